"""What may run: those who ask first hear what a dispatch would, and nothing gets in by another way.

Each check raises `BrokenClaim`, or lets an error out that no caller should see.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from vyre_conform.worker.claiming import NotExercised, refused, require
from vyre_driver.backend.config import DEFAULT_CONFIG, DispatchConfig, Preference
from vyre_driver.backend.contract import VyreBackend
from vyre_driver.backend.resources import ResidentDispatchStep
from vyre_driver.engine.artifact import compile_ahead, load_ahead
from vyre_driver.engine.backend import EngineBackend
from vyre_driver.errors import (
    BackendError,
    BadArtifact,
    InvalidLaunch,
    InvalidProgram,
    PolicyDenied,
    UnsupportedFeature,
)
from vyre_driver.observe.live import compile_many
from vyre_driver.pipeline.compile import compile
from vyre_driver.plan import admission as asked
from vyre_driver.policy.enforce import AllowedOps, GatedBackend
from vyre_foundation import dialects
from vyre_foundation.build import Value, constant, program
from vyre_foundation.dtype import DType, f64, i64, u32, u64
from vyre_foundation.errors import without_remedy
from vyre_foundation.ir.program import Program

ASKED = "vyre_driver.plan.admission.validate_program_for_backend"
FORCED = Preference.FORCE
CHANGING = "conform.changing"


def _one(dtype: DType) -> Program:
    with program(f"one_{dtype}", 1) as p:
        p.write("out", dtype, 1)[p.global_id(0)] = constant(dtype, 1)
    return p.build()


def _atomic() -> Program:
    with program("one_atomic", 1) as p:
        p.write("out", u64, 1).atomic_add(p.global_id(0), 1)
    return p.build()


def admission(backend: VyreBackend) -> None:
    """`validate_program_for_backend` refuses what a dispatch does, and nothing else; what is not there is refused."""
    profile = backend.device_profile()
    demands = {
        "the default configuration": (DEFAULT_CONFIG, True),
        "speculation": (DispatchConfig(speculation=FORCED), backend.supports_speculation()),
        "persistent threads": (
            DispatchConfig(persistent_thread=FORCED),
            backend.supports_persistent_thread_dispatch(),
        ),
        "a cooperative launch": (DispatchConfig(cooperative=True), profile.supports_grid_sync),
        "a large workgroup": (DispatchConfig(workgroup_override=(1024, 1, 1)), None),
        "too large a workgroup": (DispatchConfig(workgroup_override=(1025, 1, 1)), False),
        "too large a grid": (DispatchConfig(grid_override=(1, 2**17, 2**16)), False),
    }
    programs = {
        "f64": (_one(f64), profile.supports_f64),
        "64-bit integers": (_one(i64), profile.supports_int64),
        "64-bit atomics": (_atomic(), profile.supports_atomic64),
    }
    wanted = {name: (_one(u32), config, is_there) for name, (config, is_there) in demands.items()}
    wanted |= {name: (found, DEFAULT_CONFIG, is_there) for name, (found, is_there) in programs.items()}
    for name, (source, config, is_there) in wanted.items():
        answer = _refusal(lambda: asked.validate_program_for_backend(backend, source, config))  # noqa: B023
        done = _refusal(lambda: backend.dispatch(source, [], config))  # noqa: B023
        dispatch = f"a dispatch {'runs it' if done is None else f'raises {done.__name__}'}"
        asking = f"{ASKED} {'accepts' if answer is None else f'refuses by {answer.__name__}'}"
        require(answer == done, f"{asking} a program with {name}, and {dispatch}")
        claim = f"the profile and the queries {'claim' if is_there else 'deny'} {name}"
        require(is_there is None or is_there == (done is None), f"{claim}, and {dispatch}")


def _refusal(call: Callable[[], object]) -> type[BackendError] | None:
    try:
        call()
    except (UnsupportedFeature, InvalidLaunch, InvalidProgram) as error:
        return type(error)
    return None


def gates(backend: VyreBackend) -> None:
    """Nothing that a gate denies is compiled or run, one by one or together."""
    with program("denied", 1) as p:
        p.write("out", u32, 1)[p.global_id(0)] = p.global_id(0) * 3
    denied, gated = p.build(), GatedBackend(backend, AllowedOps({"add"}))
    step = ResidentDispatchStep(program=denied, resources=())
    ways: dict[str, Callable[[], object]] = {
        "dispatch": lambda: gated.dispatch(denied, []),
        "dispatch_async": lambda: gated.dispatch_async(denied, []),
        "dispatch_arrays": lambda: gated.dispatch_arrays(denied, {}),
        "a sequence": lambda: gated.dispatch_resident_sequence_read_ranges_into([step], [], []),
        "precompile": lambda: gated.precompile([denied]),
        "compile_many": lambda: compile_many(gated, [denied]),
        "compile": lambda: compile(gated, denied),
    }
    before = backend.backend_metric_snapshot()
    for name, way in ways.items():
        with refused(f"{name} of a program that a gate denies", PolicyDenied):
            way()
    require(backend.backend_metric_snapshot() == before, "something was done for a program that a gate denies")


def pipelines_over_memory(backend: VyreBackend) -> None:
    """What a backend does over resident memory its pipelines do, too."""
    with program("resident", 1) as p:
        x = p.read("x", u32, 1)
        p.write("out", u32, 1)[p.global_id(0)] = x[p.global_id(0)] + 1
    source = p.build()
    try:
        x_, out = backend.allocate_resident(4), backend.allocate_resident(4)
        backend.dispatch_resident_timed(source, [x_, out])
    except UnsupportedFeature as error:
        raise NotExercised(
            f"it has no resident memory: {without_remedy(error)}", fix="judge it by its other ways in"
        ) from error
    backend.upload_resident(x_, (7).to_bytes(4, "little"))
    with compile(backend, source) as pipeline:
        refusal = _refusal(lambda: pipeline.dispatch_resident([x_, out]))
    require(refusal is None, "the backend takes resident memory, and its pipelines refuse it")
    given = int.from_bytes(backend.download_resident(out), "little")
    require(given == 8, f"a pipeline over resident memory gave {given} instead of 8")
    backend.free_resident(x_)
    backend.free_resident(out)


def changed_dialects(backend: VyreBackend) -> None:
    """Code made ahead of time is refused where a dialect that its program calls is another one by now."""
    if not isinstance(backend, EngineBackend):
        raise NotExercised("it makes no code ahead of time", fix="judge it by its other ways in")
    with _changing() as change:
        change(2)
        with program("calling", 1) as p:
            call = dialects.call(CHANGING, p.global_id(0).expr)
            p.write("out", u32, 1)[p.global_id(0)] = Value(call)
        try:
            made = compile_ahead(backend, "conform", p.build(), DEFAULT_CONFIG)
        except UnsupportedFeature as error:
            words = f"it makes no code ahead of time: {without_remedy(error)}"
            raise NotExercised(words, fix="judge its other ways in") from error
        load_ahead(backend, made)
        change(3)
        with refused("code of a dialect that has changed", BadArtifact):
            load_ahead(backend, made)


@contextmanager
def _changing() -> Iterator[Callable[[int], None]]:
    """Registers an op that multiplies by a number, and then by another one."""

    def change(factor: int) -> None:
        dialects.unregister([CHANGING])
        row = dialects.Composition(CHANGING, {(u32,): u32}, lambda x: (Value(x) * factor).expr)
        dialects.register([row])

    try:
        yield change
    finally:
        dialects.unregister([CHANGING])
