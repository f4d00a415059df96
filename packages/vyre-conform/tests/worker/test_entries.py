"""Ways in and claims: a right backend passes them all, and each kind of lie is found."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

from vyre_conform.address import Query
from vyre_conform.case import Spec
from vyre_conform.cases import specs
from vyre_conform.cell import State
from vyre_conform.oracle import EVALUATORS
from vyre_conform.testing import require
from vyre_conform.worker.admission import changed_dialects, pipelines_over_memory
from vyre_conform.worker.claiming import NotExercised
from vyre_conform.worker.freeing import freed_memory
from vyre_driver.backend.config import DEFAULT_CONFIG, DispatchConfig, Preference
from vyre_driver.backend.contract import VyreBackend
from vyre_driver.backend.delegate import DelegatingPipeline
from vyre_driver.backend.pipeline import CompiledPipeline
from vyre_driver.backend.resources import Resource
from vyre_driver.backend.results import OutputBuffers, Outputs, TimedDispatchResult
from vyre_driver.device.profile import DeviceProfile, DeviceTimingQuality
from vyre_driver.engine.backend import EngineBackend
from vyre_driver.errors import DeviceOutOfMemory, DispatchFailed, InvalidInput, UnsupportedFeature
from vyre_driver.legalization.target import Target
from vyre_driver.registry.backends import acquire
from vyre_driver.testing.capabilities import UNSHOWN, USES, contradictions, false_claim
from vyre_driver.testing.fake_port import FakeMemory, FakePort
from vyre_driver.testing.full import FullBackend
from vyre_driver.testing.mock import MockBackend
from vyre_foundation.dtype import f64, i64, u64
from vyre_foundation.ir.program import Program
from vyre_reference.vector import evaluate

SPECS = specs([Query.parse("entries"), Query.parse("claims")])


def named(text: str) -> Spec:
    (spec,) = [spec for spec in SPECS if str(spec.address) == text]
    return spec


def test_every_entry_and_every_claim_has_its_cases() -> None:
    ways = {spec.address.name for spec in SPECS if spec.address.group == "entries"}
    assert ways == {
        *("borrowed", "timed", "into", "canaries", "asynchronous", "awaited", "compiled", "batched", "threads"),
        *("resident", "sequence", "device_buffers"),
    }
    claims = {spec.address.name for spec in SPECS if spec.address.group == "claims"}
    assert claims == {
        *("workgroup_limits", "grid_limits", "profile_agrees", "counts", "times", "stale_handles", "forged_handles"),
        *("foreign_buffers", "bad_inputs", "unsupported_methods", "mechanisms", "ranges", "flushing", *USES, *UNSHOWN),
        *("admission", "gates", "pipelines_over_memory", "changed_dialects", "freed_memory", "graphs"),
        "contended_atomics",
    }


@pytest.mark.slow
@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_the_reference_is_right_on_every_way_in(spec: Spec) -> None:
    """As `tox -e conform-all` finds it."""
    shows_nothing = spec.address.name in ("mechanisms", "changed_dialects")
    assert require(acquire("reference"), spec) is (State.SKIPPED if shows_nothing else State.PASS)


class Delegate(VyreBackend, contract=1):
    """A backend that can only dispatch: what it does not have it refuses."""

    def __init__(self) -> None:
        self.inner = acquire("reference")

    def id(self) -> str:
        return "delegate"

    def dispatch(self, program: Program, inputs: Sequence[Any], config: DispatchConfig = DEFAULT_CONFIG) -> Outputs:
        return self.inner.dispatch(program, inputs, config)

    def supports_grid_sync(self) -> bool:
        return self.inner.supports_grid_sync()

    def max_workgroup_size(self) -> tuple[int, int, int]:
        return self.inner.max_workgroup_size()

    def max_compute_invocations_per_workgroup(self) -> int:
        return self.inner.max_compute_invocations_per_workgroup()

    def device_profile(self) -> DeviceProfile:
        return replace(self.inner.device_profile(), backend="delegate")


class SharedInputs(Delegate, contract=1):
    """Keeps the inputs of a dispatch where those of another thread replace them."""

    def dispatch(self, program: Program, inputs: Sequence[Any], config: DispatchConfig = DEFAULT_CONFIG) -> Outputs:
        self.inputs = [bytes(data) for data in inputs]
        time.sleep(0.01)
        return super().dispatch(program, self.inputs, config)


def test_threads_that_share_memory_are_found() -> None:
    spec = named("entries:threads:program=floats")
    assert require(Delegate(), spec) is State.PASS
    with pytest.raises(AssertionError):
        require(SharedInputs(), spec)


@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_what_is_not_there_is_unsupported_and_nothing_else(spec: Spec) -> None:
    states = dict.fromkeys(("resident", "sequence", "device_buffers"), State.UNSUPPORTED)
    skipped = ("mechanisms", "forged_handles", "pipelines_over_memory", "changed_dialects", "freed_memory")
    states |= dict.fromkeys(skipped, State.SKIPPED)
    assert require(Delegate(), spec) is states.get(spec.address.name, State.PASS)


class WritesBeyond(Delegate, contract=1):
    """Clears whole rows of memory after its outputs."""

    def dispatch_borrowed_into(
        self, program: Program, inputs: Sequence[Any], config: DispatchConfig, outputs: OutputBuffers
    ) -> None:
        super().dispatch_borrowed_into(program, inputs, config, outputs)
        for slot in outputs:
            if isinstance(slot, memoryview):
                whole = slot.obj
                assert isinstance(whole, bytearray)
                whole[256 + len(slot)] = 0


class KeepsInputs(Delegate, contract=1):
    """Reads borrowed inputs when the handle is awaited."""

    def dispatch_borrowed(
        self, program: Program, inputs: Sequence[Any], config: DispatchConfig = DEFAULT_CONFIG
    ) -> Outputs:
        outputs = self.dispatch(program, inputs, config)
        return [memoryview(inputs[0]) if len(inputs[0]) == len(out) else out for out in outputs]


class TakesTurns(Delegate, contract=1):
    """Gives something else every other time."""

    turn = 0

    def dispatch(self, program: Program, inputs: Sequence[Any], config: DispatchConfig = DEFAULT_CONFIG) -> Outputs:
        self.turn += 1
        outputs = super().dispatch(program, inputs, config)
        return outputs if self.turn % 5 else [memoryview(bytes(len(out))) for out in outputs]


class ThreeLanes(Delegate, contract=1):
    """Claims subgroups of three."""

    def subgroup_size(self) -> int:
        return 3

    def device_profile(self) -> DeviceProfile:
        return replace(super().device_profile(), subgroup_size=3)


class Boasts(Delegate, contract=1):
    """Claims smaller workgroups than it refuses."""

    def device_profile(self) -> DeviceProfile:
        return replace(super().device_profile(), max_workgroup_size=(64, 1, 1))


class Hides(Delegate, contract=1):
    """Says that it has no f64, and computes with it; pipelines without the resident memory that the backend has."""

    def device_profile(self) -> DeviceProfile:
        return replace(super().device_profile(), supports_f64=False)

    def allocate_resident(self, byte_len: int) -> Resource:
        return self.inner.allocate_resident(byte_len)

    def upload_resident(self, resource: Resource, data: Any) -> None:
        self.inner.upload_resident(resource, data)

    def dispatch_resident_timed(
        self, program: Program, resources: Sequence[Resource], config: DispatchConfig = DEFAULT_CONFIG
    ) -> TimedDispatchResult:
        return self.inner.dispatch_resident_timed(program, resources, config)

    def compile_native(self, program: Program, config: DispatchConfig = DEFAULT_CONFIG) -> CompiledPipeline:
        return Bare(self.inner.compile_native(program, config))


class Bare(DelegatingPipeline):
    def dispatch_resident(self, resources: Sequence[Resource], config: DispatchConfig | None = None) -> None:
        raise UnsupportedFeature("resident dispatch", backend="delegate")


class Timeless(Delegate, contract=1):
    """A clock that stands still."""

    def dispatch_borrowed_timed(
        self, program: Program, inputs: Sequence[Any], config: DispatchConfig = DEFAULT_CONFIG
    ) -> TimedDispatchResult:
        return replace(super().dispatch_borrowed_timed(program, inputs, config), device_ns=0)


class Forgives(Delegate, contract=1, checked=False):
    """Runs with what it is given, and reads any handle."""

    def dispatch(self, program: Program, inputs: Sequence[Any], config: DispatchConfig = DEFAULT_CONFIG) -> Outputs:
        fitting = [bytes(data[:16]).ljust(16, b"\0") for data in inputs[: len(program.inputs)]]
        return self.inner.dispatch(program, fitting or [bytes(16)] * len(program.inputs), config)

    def allocate_resident(self, byte_len: int) -> Resource:
        return Resource(backend="delegate", id=1, generation=0, byte_len=byte_len)

    def free_resident(self, resource: Resource) -> None:
        """Frees nothing."""

    def download_resident(self, resource: Resource) -> memoryview:
        return memoryview(bytes(resource.byte_len))


class Remembers(FullBackend, contract=1):
    """Runs a launch that it knows, though its memory was freed."""

    def __init__(self) -> None:
        super().__init__(evaluate)
        self.known: set[tuple[int, int]] = set()

    def dispatch_resident_timed(
        self, program: Program, resources: Sequence[Resource], config: DispatchConfig = DEFAULT_CONFIG
    ) -> TimedDispatchResult:
        launch = (id(program), resources[0].id)
        if launch in self.known:
            return TimedDispatchResult(outputs=[], wall_ns=1)
        result = super().dispatch_resident_timed(program, resources, config)
        self.known.add(launch)
        return result


class Miscounts(Delegate, contract=1):
    """Counts launches that it does not make."""

    launches = 0

    def backend_metric_snapshot(self) -> dict[str, int]:
        self.launches += 2
        return {"launches": self.launches}


class Denies(Delegate, contract=1):
    """Does not do what it claims: a program with any of these is refused, as one does who has not got it."""

    needs: ClassVar[Callable[[Program, DispatchConfig], bool]]
    claimed: ClassVar[str]

    def dispatch(self, program: Program, inputs: Sequence[Any], config: DispatchConfig = DEFAULT_CONFIG) -> Outputs:
        if program.name.startswith(("uses_", "trapping", "doubling")) and self.needs(program, config):
            raise UnsupportedFeature(self.claimed, backend=self.id())
        return super().dispatch(program, inputs, config)

    def device_profile(self) -> DeviceProfile:
        profile = super().device_profile()
        return replace(profile, **{self.claimed: True}) if hasattr(profile, self.claimed) else profile


def denier(name: str) -> Denies:
    """A backend that claims a capability, by its profile and by its query, and has not got it."""
    fitting = USES[name](acquire("reference").device_profile()) if name in USES else None

    def needs(self: Denies, program: Program, config: DispatchConfig) -> bool:
        return fitting is not None and (program, config) == (fitting.program, fitting.config)

    members: dict[str, Any] = {"claimed": name, "needs": needs}
    if hasattr(VyreBackend, name):
        members[name] = lambda self: True
    made: type[Denies] = type(f"Claims_{name}", (Denies,), members, contract=1)  # type: ignore[call-overload]
    return made()


@pytest.mark.parametrize("name", [*USES, *UNSHOWN])
def test_a_claim_without_the_ability_is_found(name: str) -> None:
    with pytest.raises(AssertionError, match=f"BrokenClaim: {name} is claimed, and "):
        require(denier(name), named(f"claims:{name}"))
    assert false_claim(denier(name), name).startswith(f"{name} is claimed, and ")


class Miscomputes(Delegate, contract=1):
    """Takes every program, and gives zeros for those that need something; raises what is no refusal for some."""

    def dispatch(self, program: Program, inputs: Sequence[Any], config: DispatchConfig = DEFAULT_CONFIG) -> Outputs:
        if program.name in ("uses_f16", "uses_subgroups"):
            raise DispatchFailed("the device does not know that", backend=self.id())
        if program.name.startswith("uses_"):
            config = replace(config, cooperative=False)
            return [memoryview(bytes(len(out))) for out in self.inner.dispatch(program, inputs, config)]
        if program.name == "trapping":
            return [memoryview(bytes(64))]
        return super().dispatch(program, inputs, config)


@pytest.mark.parametrize("name", [n for n in USES if n.startswith(("supports_", "has_")) and "spec" not in n][:12])
def test_what_is_denied_is_right_or_refused_as_unsupported(name: str) -> None:
    words = false_claim(Miscomputes(), name)
    assert words.startswith((f"{name} is claimed, and ", f"{name} is denied, and ")), words
    if name in ("supports_f16", "supports_subgroup_ops"):
        assert "is denied, and" in words
        assert "raised DispatchFailed" in words


class Grants(Delegate, contract=1):
    """Ignores what is demanded of it."""

    def supports_grid_sync(self) -> bool:
        return False

    def dispatch(self, program: Program, inputs: Sequence[Any], config: DispatchConfig = DEFAULT_CONFIG) -> Outputs:
        plain = replace(config, cooperative=False, speculation=Preference.AUTO, persistent_thread=Preference.AUTO)
        return super().dispatch(program, inputs, plain)

    def device_profile(self) -> DeviceProfile:
        return replace(super().device_profile(), supports_grid_sync=False)


@pytest.mark.parametrize("name", ["supports_grid_sync", "supports_speculation", "supports_persistent_thread_dispatch"])
def test_a_demand_that_cannot_be_met_is_refused(name: str) -> None:
    with pytest.raises(AssertionError, match="a dispatch that demands it is not refused with UnsupportedFeature"):
        require(Grants(), named(f"claims:{name}"))


class TwoTongues(Delegate, contract=1):
    """Its profile claims what its query denies."""

    def device_profile(self) -> DeviceProfile:
        return replace(super().device_profile(), supports_tensor_cores=True)


class NoClock(Delegate, contract=1):
    """Claims a clock on the device."""

    def device_profile(self) -> DeviceProfile:
        quality = DeviceTimingQuality.DEVICE_TIMESTAMPS
        return replace(super().device_profile(), supports_device_timestamps=True, timing_quality=quality)


class Counts(Delegate, contract=1):
    """Claims counters in the hardware, and knows only its host's clock."""

    def device_profile(self) -> DeviceProfile:
        return replace(super().device_profile(), timing_quality=DeviceTimingQuality.HARDWARE_COUNTERS)


class BoastingPort(FakePort):
    """A device whose profile claims what no target has, and denies what its own has."""

    def probe(self) -> DeviceProfile:
        claimed = replace(super().probe(), supports_tensor_cores=True, supports_f16=False)
        return replace(claimed, supports_grid_sync=True)


class WithoutWords(FakePort):
    """A device whose target has no types of 64 bits, whatever its profile claims."""

    def target(self) -> Target:
        found, wide = super().target(), (u64, i64, f64)
        atomics = frozenset((op, dtype) for op, dtype in found.atomics if dtype not in wide)
        return replace(found, arithmetic=found.arithmetic - {*wide}, atomics=atomics)


def test_a_profile_that_contradicts_its_target_is_found() -> None:
    backend = EngineBackend("fake", lambda: BoastingPort(EVALUATORS["vector"]))
    try:
        with backend.session() as device:
            assert set(contradictions(device.stated, device.target)) == {
                "the profile's supports_f16 is False, the target says True",
                "the profile's supports_grid_sync is True, the target says False",
                "the profile's supports_tensor_cores is True, the target says False",
            }
        with pytest.raises(AssertionError, match="BrokenClaim: the profile's supports_f16 is False"):
            require(backend, named("claims:profile_agrees"))
    finally:
        backend.shutdown()


@pytest.mark.parametrize("name", ["supports_atomic64", "supports_f64", "supports_int64"])
def test_a_claim_without_words_is_found_though_the_engine_does_not_rely_on_it(name: str) -> None:
    backend = EngineBackend("fake", lambda: WithoutWords(EVALUATORS["vector"]))
    try:
        assert not getattr(backend.device_profile(), name)
        with backend.session() as device:
            stated = set(contradictions(device.stated, device.target))
        assert f"the profile's {name} is True, the target says False" in stated
        with pytest.raises(AssertionError, match="BrokenClaim: the profile's supports_"):
            require(backend, named("claims:profile_agrees"))
    finally:
        backend.shutdown()


class AtTheFront(FakePort):
    """A device whose copies begin at the first byte, wherever they are meant."""

    def copy_in(self, memory: FakeMemory, data: memoryview, offset: int = 0) -> None:
        super().copy_in(memory, data)


class FromTheFront(FakePort):
    def copy_out(self, memory: FakeMemory, into: memoryview, offset: int = 0) -> None:
        super().copy_out(memory, into)


@pytest.mark.parametrize(
    ("port", "words"),
    [
        (AtTheFront, r"BrokenClaim: after an upload of the bytes \d+ to \d+, byte \d+ is 0x.., expected 0x.."),
        (FromTheFront, r"BrokenClaim: a download of the bytes \d+ to \d+ gives other bytes"),
    ],
)
def test_copies_that_ignore_their_offset_are_found(port: type[FakePort], words: str) -> None:
    backend = EngineBackend("fake", lambda: port(EVALUATORS["vector"]))
    try:
        with pytest.raises(AssertionError, match=words):
            require(backend, named("claims:ranges"))
    finally:
        backend.shutdown()


class Keeping(FakePort):
    """Frees nothing."""

    def free(self, memory: FakeMemory) -> None:
        pass


class Small(Keeping):
    """The same on a device that is full soon."""

    def allocate(self, size: int) -> FakeMemory:
        if len(self.live) == 5:
            raise DeviceOutOfMemory(size, 0)
        return super().allocate(size)


class Holding(EngineBackend, contract=1):
    """Its resources are never freed."""

    def free_resident(self, resource: Resource) -> None:
        pass


@pytest.mark.parametrize(
    ("backend", "port", "words"),
    [
        (EngineBackend, Keeping, "4 pieces of 41,943,040 bytes were allocated and freed, one by one, and"),
        (EngineBackend, Small, r"no memory is left after \d pieces"),
        (Holding, FakePort, "3 of 3 pieces of memory of the port were not passed to its `free` after their resources"),
    ],
)  # fmt: skip
def test_memory_that_is_not_given_back_is_found(backend: type[EngineBackend], port: type[FakePort], words: str) -> None:
    made = backend("fake", lambda: port(EVALUATORS["vector"]))
    try:
        with pytest.raises(AssertionError, match=f"BrokenClaim: {words}"):
            require(made, named("claims:freed_memory"), repeats=1)
    finally:
        made.shutdown()


def test_an_engine_is_as_good_as_it_says() -> None:
    backend = EngineBackend("fake", lambda: FakePort(EVALUATORS["vector"]))
    try:
        for spec in SPECS:
            if spec.address.group == "claims":
                require(backend, spec)
    finally:
        backend.shutdown()


class Renamed(Delegate, contract=1):
    """Its profile was written for another one."""

    def id(self) -> str:
        return "renamed"

    def device_profile(self) -> DeviceProfile:
        return replace(super().device_profile(), backend="delegate")


class Overrules(Delegate, contract=1):
    """Refuses handles that are stale by an error of another class."""

    def allocate_resident(self, byte_len: int) -> Resource:
        return Resource(backend="delegate", id=1, generation=1, byte_len=byte_len)

    def free_resident(self, resource: Resource) -> None:
        pass

    def download_resident(self, resource: Resource) -> memoryview:
        raise InvalidInput("resource", needed="a live one", got="another", fix="allocate one")


class ShortGrids(Delegate, contract=1):
    """Counts workgroups on y in 16 bits."""

    def dispatch(self, program: Program, inputs: Sequence[Any], config: DispatchConfig = DEFAULT_CONFIG) -> Outputs:
        outputs = super().dispatch(program, inputs, config)
        if config.grid_override is not None and config.grid_override[1] > 2**16:
            return [memoryview(bytes(out)[: 4 * 2**16] + bytes(len(out) - 4 * 2**16)) for out in outputs]
        return outputs


class LosesUpdates(Delegate, contract=1):
    """Loses one of many updates of one element, in launches that take long."""

    def dispatch(self, program: Program, inputs: Sequence[Any], config: DispatchConfig = DEFAULT_CONFIG) -> Outputs:
        outputs = super().dispatch(program, inputs, config)
        if program.name == "contended_i32" and inputs[0][0] > 1:
            sums = bytearray(outputs[0])
            sums[0] ^= 1
            return [memoryview(sums), *outputs[1:]]
        return outputs


LIES = [
    (ShortGrids, "claims:grid_limits", r"BrokenClaim: a grid of \(1, 70001, 1\) is claimed, and gives wrong numbers"),
    (
        LosesUpdates,
        "claims:contended_atomics",
        "9 iterations of 512 invocations lose updates of i32 by atomic add",
    ),
    (TwoTongues, "claims:profile_agrees", "the profile's supports_tensor_cores is True, supports_tensor_cores.. says"),
    (TwoTongues, "claims:supports_tensor_cores", "is claimed, and nothing can show it: no program has a matrix"),
    (NoClock, "claims:times", "supports_device_timestamps is claimed, and a timed dispatch has no time on the device"),
    (Counts, "claims:times", "timing_quality is hardware_counters, and supports_device_timestamps is denied"),
    (WritesBeyond, "entries:canaries:program=floats", "CanaryDied: bytes after 'out' were written to"),
    (KeepsInputs, "entries:borrowed:program=floats", "out"),
    (TakesTurns, "entries:asynchronous:program=floats", "NotTheSame|differs"),
    (Boasts, "claims:workgroup_limits", r"BrokenClaim: a workgroup of \(65, 1, 1\) was not refused"),
    (Boasts, "claims:profile_agrees", r"BrokenClaim: the profile's max_workgroup_size is \(64, 1, 1\), its query says"),
    (ThreeLanes, "claims:profile_agrees", "BrokenClaim: subgroups of 3 lanes are claimed"),
    (Timeless, "claims:times", "BrokenClaim: 0 ns of"),
    (
        Hides,
        "claims:admission",
        r"validate_program_for_backend refuses by UnsupportedFeature a program with f64, and a dispatch runs it",
    ),
    (Renamed, "claims:profile_agrees", r"device_profile\(\).backend is 'delegate', and id\(\) is 'renamed'"),
    (Hides, "claims:pipelines_over_memory", "BrokenClaim: the backend takes resident memory, and its pipelines refuse"),
    (Forgives, "claims:bad_inputs", "BrokenClaim: dispatch with .* was not refused"),
    (Forgives, "claims:stale_handles", "BrokenClaim: a freed resource: reading was not refused"),
    (Remembers, "claims:forged_handles", "BrokenClaim: a dispatch of one that was freed was not refused"),
    (Miscounts, "claims:counts", "BrokenClaim: three dispatches of one launch each were"),
]


@pytest.mark.parametrize(("backend", "case", "words"), LIES)
def test_a_lie_is_found(backend: type[Delegate], case: str, words: str) -> None:
    with pytest.raises(AssertionError, match=words):
        require(backend(), named(case), repeats=3)


def test_what_the_suite_says_of_a_backend_has_no_frames_of_the_suite() -> None:
    with pytest.raises(AssertionError) as caught:
        require(Renamed(), named("claims:profile_agrees"))
    assert "Traceback" not in str(caught.value)
    with pytest.raises(AssertionError, match=r"InvalidInput.*\n.*Traceback") as caught:
        require(Overrules(), named("claims:stale_handles"))
    assert "in download_resident" in str(caught.value)
    assert str(caught.value).partition("\n")[0].count("Fix: ") == 1
    assert "the direct cause" not in str(caught.value)


class Budgeted(Delegate, contract=1):
    """Emits other code within a budget, as one that has measured its own functions does."""

    def emitted_source(self, program: Program, config: DispatchConfig = DEFAULT_CONFIG) -> Any:
        return SimpleNamespace(text=f"{program} within {config.ulp_budget}")


def test_a_budget_that_changes_nothing_is_no_pass() -> None:
    (spec,) = specs([Query.parse("calls:math.exp:dtype=f32,budget=4")])
    assert require(Delegate(), spec) is State.SKIPPED
    assert require(Budgeted(), spec) is State.PASS


@pytest.mark.parametrize("entry", [freed_memory, pipelines_over_memory, changed_dialects])
def test_a_reason_made_of_a_refusal_has_one_remedy(entry: Callable[[VyreBackend], None]) -> None:
    class Least(MockBackend, contract=1):
        def dispatch_resident_timed(self, *_: object, **__: object) -> TimedDispatchResult:
            raise UnsupportedFeature("resident memory", backend="least")

    with pytest.raises(NotExercised) as caught:
        entry(Least(evaluate, "least"))
    assert str(caught.value).count("Fix: ") == 1
