"""The frozen surface, the seal, and what each method does by default."""

import inspect
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from vyre_driver.backend.config import DEFAULT_CONFIG, DispatchConfig
from vyre_driver.backend.contract import CONTRACT, VyreBackend
from vyre_driver.backend.ops import core_supported_ops
from vyre_driver.backend.pending import PendingDispatch
from vyre_driver.backend.pipeline import CompiledPipeline
from vyre_driver.backend.resources import DEVICE_BUFFER_FEATURE, HostShimBuffer, ResidentDispatchStep, Resource
from vyre_driver.device.profile import DeviceProfile
from vyre_driver.errors import ContractMismatch, InvalidInput, StaleHandle, UnsupportedFeature
from vyre_driver.plan.launch import LaunchPlan
from vyre_driver.testing.full import FullBackend
from vyre_driver.testing.mock import MockBackend
from vyre_foundation.build import program
from vyre_foundation.dtype import u32
from vyre_foundation.ir.program import Program
from vyre_foundation.testing.goldens import check_golden

GOLDEN = Path(__file__).parent.parent / "contract.txt"


def doubling() -> Program:
    with program("doubling", workgroup_size=4) as p:
        a = p.read("a", u32)
        out = p.write("out", u32, like=a)
        i = p.global_id(0)
        out[i] = a[i] * 2
    return p.build()


def double(plan: LaunchPlan, memory: Mapping[str, memoryview]) -> None:
    out = np.frombuffer(memory["out"], np.uint32)
    out[:] = 2 * np.frombuffer(memory["a"], np.uint32)


# ── the surface ──


def public_methods(cls: type) -> dict[str, object]:
    found = {name: getattr(cls, name) for name in dir(cls) if not name.startswith("_")}
    return {name: member for name, member in found.items() if callable(member)}


def signatures(cls: type) -> list[str]:
    """One line for each method, in words that do not depend on the version of Python."""
    lines = []
    for name, method in sorted(public_methods(cls).items()):
        signature = inspect.signature(method)  # type: ignore[arg-type]
        parameters = ", ".join(map(shown, signature.parameters.values()))
        abstract = " (abstract)" if getattr(method, "__isabstractmethod__", False) else ""
        lines.append(f"{cls.__name__}.{name}({parameters}) -> {signature.return_annotation}{abstract}")
    return lines


def shown(parameter: inspect.Parameter) -> str:
    assert parameter.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
    default = {DEFAULT_CONFIG: " = DEFAULT_CONFIG", None: " = None"}.get(parameter.default, "")
    return parameter.name if parameter.name == "self" else f"{parameter.name}: {parameter.annotation}{default}"


def test_no_signature_has_changed() -> None:
    """A changed line breaks somebody's backend: it needs a decision record, and a new `CONTRACT` unless it adds."""
    now = "\n".join([f"contract {CONTRACT}", *signatures(VyreBackend), *signatures(CompiledPipeline), ""])
    check_golden(GOLDEN, now, __file__)


def test_two_methods_are_required() -> None:
    assert VyreBackend.__abstractmethods__ == {"id", "dispatch"}
    assert CompiledPipeline.__abstractmethods__ == {"id", "dispatch"}


# ── the seal ──


def test_a_class_that_states_no_contract_is_refused() -> None:
    with pytest.raises(ContractMismatch) as caught:

        class Mine(VyreBackend):
            pass

    assert str(caught.value) == (
        "backend class 'Mine' does not state the contract that it implements. "
        "Fix: write `class Mine(…, contract=1)` and implement contract 1"
    )


def test_a_class_of_another_contract_is_refused() -> None:
    with pytest.raises(ContractMismatch, match="implements contract 2, this vyre-driver speaks 1"):
        type("Mine", (VyreBackend,), {}, contract=2)


def test_every_descendant_states_it_again() -> None:
    with pytest.raises(ContractMismatch):
        type("Mine", (MockBackend,), {})
    assert type("Mine", (MockBackend,), {}, contract=1).contract == 1  # type: ignore[attr-defined]


# ── every default ──


@pytest.fixture
def mock() -> MockBackend:
    return MockBackend(double)


A = np.arange(5, dtype=np.uint32)
DOUBLED = (2 * A).tobytes()

# fmt: off
QUERIES = [
    ("version", "unspecified", "1.0"),
    ("supported_ops", core_supported_ops(), {"add"}),
    ("supports_subgroup_ops", False, True),
    ("supports_f16", False, True),
    ("supports_bf16", False, True),
    ("supports_tensor_cores", False, False),
    ("supports_async_compute", False, False),
    ("supports_indirect_dispatch", False, True),
    ("supports_speculation", False, True),
    ("supports_persistent_thread_dispatch", False, True),
    ("supports_grid_sync", False, True),
    ("supports_distributed_collectives", False, False),
    ("is_distributed", False, False),
    ("allows_host_grid_sync_split", True, False),
    ("max_workgroup_size", (1, 1, 1), (1024, 512, 64)),
    ("max_compute_workgroups_per_dimension", 1, 2**31 - 1),
    ("max_compute_invocations_per_workgroup", 1, 1024),
    ("subgroup_size", None, 32),
    ("max_storage_buffer_bytes", 0, 2**30),
    ("device_lost", False, False),
]
# fmt: on


@pytest.mark.parametrize(("query", "default", "overridden"), QUERIES)
def test_queries_default_to_the_least(query: str, default: object, overridden: object) -> None:
    assert getattr(MockBackend(double), query)() == default
    assert getattr(FullBackend(double), query)() == overridden


def test_every_query_is_in_the_table() -> None:
    asked = {name for name, *_ in QUERIES}
    there = {n for n in public_methods(VyreBackend) if n.startswith(("supports_", "max_", "is_", "allows_"))}
    assert there <= asked


def test_every_way_to_dispatch_gives_the_same(mock: MockBackend) -> None:
    program = doubling()
    slots = [bytearray(20), bytearray(1)]
    first = slots[0]
    mock.dispatch_borrowed_into(program, [A], DispatchConfig(), slots)
    assert slots == [DOUBLED]
    assert slots[0] is first
    assert [bytes(out) for out in mock.dispatch(program, [A])] == [DOUBLED]
    assert [bytes(out) for out in mock.dispatch_borrowed(program, [A])] == [DOUBLED]
    assert [bytes(out) for out in mock.dispatch_async(program, [A]).await_result()] == [DOUBLED]
    assert [bytes(out) for out in mock.dispatch_borrowed_async(program, [A]).await_result()] == [DOUBLED]
    assert mock.dispatch_arrays(program, {"a": A})["out"].tolist() == [0, 2, 4, 6, 8]


def test_default_timing_is_the_wall_clock_alone(mock: MockBackend) -> None:
    timed = mock.dispatch_borrowed_timed(doubling(), [A])
    assert timed.outputs == [DOUBLED]
    assert timed.wall_ns > 0
    assert (timed.device_ns, timed.enqueue_ns, timed.wait_ns) == (None, None, None)


RESOURCE = Resource(backend="mock", id=1, generation=1, byte_len=4)
BUFFER = HostShimBuffer("mock", bytes(4))


@pytest.mark.parametrize(
    ("method", "arguments", "feature"),
    [
        ("allocate_resident", (4,), "resident buffer allocation"),
        ("upload_resident", (RESOURCE, b""), "resident buffer upload"),
        ("upload_resident_many", ([(RESOURCE, b"")],), "resident buffer upload"),
        ("upload_resident_at", (RESOURCE, 0, b""), "ranged resident buffer upload"),
        ("upload_resident_at_many", ([(RESOURCE, 0, b"")],), "ranged resident buffer upload"),
        ("download_resident", (RESOURCE,), "resident buffer download"),
        ("download_resident_into", (RESOURCE, bytearray(4)), "resident buffer download"),
        ("download_resident_range", (RESOURCE, 0, 4), "ranged resident buffer download"),
        ("download_resident_range_into", (RESOURCE, 0, 4, bytearray(4)), "ranged resident buffer download"),
        ("export_resident", (RESOURCE,), "exporting of resident buffers"),
        ("free_resident", (RESOURCE,), "resident buffer free"),
        ("dispatch_resident_timed", (doubling(), [RESOURCE]), "resident dispatch"),
        ("allocate_device_buffer", (4,), DEVICE_BUFFER_FEATURE),
        ("wrap_device_buffer", (A,), "wrapping of arrays"),
        ("upload_device_buffer", (BUFFER, b""), DEVICE_BUFFER_FEATURE),
        ("download_device_buffer", (BUFFER,), DEVICE_BUFFER_FEATURE),
        ("free_device_buffer", (BUFFER,), DEVICE_BUFFER_FEATURE),
        ("dispatch_with_device_buffers", (doubling(), [BUFFER], [BUFFER]), DEVICE_BUFFER_FEATURE),
        ("try_recover", (), "device recovery"),
    ],
)
def test_what_a_backend_cannot_do_by_default(
    mock: MockBackend, method: str, arguments: tuple[object, ...], feature: str
) -> None:
    with pytest.raises(UnsupportedFeature) as caught:
        getattr(mock, method)(*arguments)
    assert str(caught.value).startswith(f"mock does not support {feature}. Fix: ")


def test_sequences_default_to_single_dispatches(mock: MockBackend) -> None:
    step = ResidentDispatchStep(program=doubling(), resources=(RESOURCE,))
    with pytest.raises(UnsupportedFeature, match="resident dispatch"):
        mock.dispatch_resident_sequence_read_ranges_into([step], [], [])
    with pytest.raises(UnsupportedFeature, match="resident dispatch"):
        mock.dispatch_resident_repeated_sequence_read_ranges_into([], [step], 2, [], [])
    mock.dispatch_resident_repeated_sequence_read_ranges_into([], [step], 0, [], [])
    assert mock.dispatch_resident_sequence_read_ranges_timed_into([], [], []).device_ns == 0


def test_ranges_and_targets_come_in_pairs(mock: MockBackend) -> None:
    with pytest.raises(InvalidInput, match="got 1, expected 0 targets"):
        mock.download_resident_ranges_into([], [bytearray(1)])


def test_device_buffers_of_another_backend_are_named(mock: MockBackend) -> None:
    with pytest.raises(StaleHandle, match="device buffer 1 cannot be used: it belongs to backend 'other'"):
        mock.dispatch_with_device_buffers(doubling(), [BUFFER], [HostShimBuffer("other", b"")])


def test_nothing_is_compiled_or_counted_by_default(mock: MockBackend) -> None:
    assert mock.compile_native(doubling()) is None
    assert mock.compile_native_shared(doubling()) is None
    assert mock.pipeline_cache_snapshot() is None
    assert mock.backend_metric_snapshot() == {}


def test_lifecycle_hooks_do_nothing_by_default(mock: MockBackend) -> None:
    mock.prepare()
    mock.flush()
    mock.shutdown()


def test_the_default_profile_is_put_together_from_the_queries(mock: MockBackend) -> None:
    assert mock.device_profile() == DeviceProfile(backend="mock", max_workgroups=(1, 1, 1))
    bold = type("Bold", (MockBackend,), {"subgroup_size": lambda self: 32}, contract=1)(double)
    assert bold.device_profile().subgroup_size == 32


# ── every override ──


def test_the_full_backend_overrides_everything() -> None:
    inherited = [n for n in public_methods(VyreBackend) if getattr(FullBackend, n) is getattr(VyreBackend, n)]
    assert inherited == ["dispatch_arrays"]


def test_residency() -> None:
    full = FullBackend(double)
    program = doubling()
    a, out = full.allocate_resident(20), full.allocate_resident(20)
    full.upload_resident(a, A)
    step = ResidentDispatchStep(program=program, resources=(a, out))
    target = bytearray(8)
    whole = bytearray(20)
    full.dispatch_resident_repeated_sequence_read_ranges_into([step], [step], 1, [], [])
    full.download_resident_range_into(out, 4, 8, target)
    full.download_resident_into(out, whole)
    assert (bytes(target), bytes(whole)) == (DOUBLED[4:12], DOUBLED)
    full.upload_resident_at(a, 0, np.uint32(9).tobytes())
    full.dispatch_resident_timed(program, [a, out])
    assert np.frombuffer(full.download_resident(out), np.uint32).tolist() == [18, 2, 4, 6, 8]
    full.free_resident(a)
    with pytest.raises(StaleHandle):
        full.upload_resident(a, A)


def test_losing_the_device_makes_handles_stale() -> None:
    full = FullBackend(double)
    resource = full.allocate_resident(4)
    full.lose_device()
    assert full.device_lost()
    full.try_recover()
    assert not full.device_lost()
    with pytest.raises(StaleHandle, match="is another one, or was opened again"):
        full.download_resident(resource)


def test_device_buffers() -> None:
    full = FullBackend(double)
    a, out = full.allocate_device_buffer(20), full.allocate_device_buffer(20)
    full.upload_device_buffer(a, A)
    full.dispatch_with_device_buffers(doubling(), [a], [out])
    assert full.download_device_buffer(out) == DOUBLED
    full.free_device_buffer(a)
    with pytest.raises(StaleHandle, match="it was freed"):
        full.download_device_buffer(a)


def test_pending_work_can_be_awaited() -> None:
    import asyncio

    async def outputs() -> list[memoryview]:
        return await FullBackend(double).dispatch_async(doubling(), [A])

    assert asyncio.run(outputs()) == [DOUBLED]


def test_pending_work_into_slots() -> None:
    pending: PendingDispatch = MockBackend(double).dispatch_async(doubling(), [A])
    slots: list[bytearray] = []
    pending.await_result_into(slots)  # type: ignore[arg-type]
    assert pending.is_ready()
    assert slots == [DOUBLED]
