"""Every setting of a configuration is honoured or refused on every way into the engine."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from vyre_driver.backend.config import DispatchConfig, Preference
from vyre_driver.backend.contract import VyreBackend
from vyre_driver.errors import (
    DeviceOutOfMemory,
    DispatchTimeout,
    InvalidLaunch,
    InvalidProgram,
    OutputLimitExceeded,
    UnsupportedFeature,
)
from vyre_driver.testing.target import generous_profile
from vyre_foundation.ir.program import Program

from .programs import DOUBLED, A, Engine, double, doubling


def resident(backend: Any) -> list[Any]:
    a, out = backend.allocate_resident(20), backend.allocate_resident(20)
    backend.upload_resident(a, A)
    return [a, out]


def buffers(backend: Any) -> tuple[Any, Any]:
    a, out = backend.allocate_device_buffer(20), backend.allocate_device_buffer(20)
    backend.upload_device_buffer(a, A)
    return a, out


def over_resident(use: Callable[[Any, Program, list[Any], DispatchConfig], Any]) -> Callable[..., bytes]:
    def run(backend: Any, source: Program, config: DispatchConfig) -> bytes:
        given = resident(backend)
        use(backend, source, given, config)
        return bytes(backend.download_resident(given[1]))

    return run


def with_buffers(backend: Any, source: Program, config: DispatchConfig) -> bytes:
    a, out = buffers(backend)
    backend.dispatch_with_device_buffers(source, [a], [out], config)
    return bytes(backend.download_device_buffer(out))


def into(use: Callable[[Any, Program, DispatchConfig, list[Any]], None]) -> Callable[..., bytes]:
    def run(backend: Any, source: Program, config: DispatchConfig) -> bytes:
        slots: list[Any] = []
        use(backend, source, config, slots)
        return bytes(slots[0])

    return run


def compiled(backend: Any, source: Program, config: DispatchConfig) -> Any:
    return backend.compile_native(source, config)


# fmt: off
WAYS: dict[str, Callable[[Any, Program, DispatchConfig], bytes]] = {
    "dispatch":           lambda b, p, c: bytes(b.dispatch(p, [A], c)[0]),
    "dispatch_arrays":    lambda b, p, c: b.dispatch_arrays(p, {"a": A}, c)["out"].tobytes(),
    "borrowed":           lambda b, p, c: bytes(b.dispatch_borrowed(p, [A], c)[0]),
    "timed":              lambda b, p, c: bytes(b.dispatch_borrowed_timed(p, [A], c).outputs[0]),
    "into":               into(lambda b, p, c, slots: b.dispatch_borrowed_into(p, [A], c, slots)),
    "async":              lambda b, p, c: bytes(b.dispatch_async(p, [A], c).await_result()[0]),
    "borrowed async":     lambda b, p, c: bytes(b.dispatch_borrowed_async(p, [A], c).await_result()[0]),
    "resident":           over_resident(lambda b, p, given, c: b.dispatch_resident(p, given, c)),
    "resident, timed":    over_resident(lambda b, p, given, c: b.dispatch_resident_timed(p, given, c)),
    "device buffers":     with_buffers,
    "pipeline":           lambda b, p, c: bytes(compiled(b, p, c).dispatch([A])[0]),
    "pipeline arrays":    lambda b, p, c: compiled(b, p, c).dispatch_arrays({"a": A})["out"].tobytes(),
    "pipeline timed":     lambda b, p, c: bytes(compiled(b, p, c).dispatch_timed([A]).outputs[0]),
    "pipeline into":      into(lambda b, p, c, slots: compiled(b, p, c).dispatch_into([A], None, slots)),
    "pipeline batched":   lambda b, p, c: bytes(compiled(b, p, c).dispatch_batched([[A], [A]])[1][0]),
    "pipeline async":     lambda b, p, c: bytes(compiled(b, p, c).dispatch_async([A]).await_result()[0]),
    "pipeline resident":  over_resident(lambda b, p, given, c: compiled(b, p, c).dispatch_resident(given)),
    "pipeline, timed":    over_resident(lambda b, p, given, c: compiled(b, p, c).dispatch_resident_timed(given)),
}
# fmt: on

EVERY_WAY = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)


@EVERY_WAY
@pytest.mark.parametrize(
    ("config", "feature"),
    [
        (DispatchConfig(speculation=Preference.FORCE), "speculation"),
        (DispatchConfig(persistent_thread=Preference.FORCE), "persistent threads"),
        (DispatchConfig(cooperative=True), "cooperative launches"),
    ],
    ids=["speculation", "persistent_thread", "cooperative"],
)
def test_what_the_device_cannot_do_is_refused(engine: Engine, way: Any, config: DispatchConfig, feature: str) -> None:
    e = engine(double)
    with pytest.raises(UnsupportedFeature, match=f"fake does not support {feature}"):
        way(e.backend, doubling(), config)
    assert e.ports[0].count("launch") == 0


@EVERY_WAY
def test_preferences_that_demand_nothing(engine: Engine, way: Any) -> None:
    config = DispatchConfig(
        speculation=Preference.DISABLE, persistent_thread=Preference.DISABLE, label="x", profile="y"
    )
    assert way(engine(double).backend, doubling(), config) == DOUBLED


@EVERY_WAY
def test_the_output_budget(engine: Engine, way: Any) -> None:
    e = engine(double)
    with pytest.raises(OutputLimitExceeded):
        way(e.backend, doubling(), DispatchConfig(max_output_bytes=19))
    assert e.ports[0].count("launch") == 0
    assert way(e.backend, doubling(), DispatchConfig(max_output_bytes=20)) == DOUBLED


@EVERY_WAY
def test_the_timeout(engine: Engine, way: Any) -> None:
    e = engine(double, hangs=True)
    with pytest.raises(DispatchTimeout, match=r"slow: the timeout of 0\.01 s passed during "):
        way(e.backend, doubling(), DispatchConfig(timeout=0.01, label="slow"))
    e.ports[0].hangs = False
    assert way(e.backend, doubling(), DispatchConfig(timeout=60.0)) == DOUBLED


@pytest.mark.parametrize("iterations", [2**31, 2**63 - 1, 2**63, 2**64, 2**100])
def test_more_iterations_than_a_machine_word_counts(engine: Engine, iterations: int) -> None:
    e = engine(double)
    with pytest.raises(DispatchTimeout, match="during launch"):
        e.backend.dispatch(doubling(), [A], DispatchConfig(fixpoint_iterations=iterations, timeout=0.2))
    assert e.ports[0].count("launch") > 1


@EVERY_WAY
def test_the_geometry(engine: Engine, way: Any) -> None:
    e = engine(double)
    config = DispatchConfig(workgroup_override=(2, 1, 1), grid_override=(7, 1, 1), fixpoint_iterations=3)
    assert way(e.backend, doubling(), config) == DOUBLED
    batched = 2 if e.ports[0].count("launch") == 6 else 1
    assert e.ports[0].count("launch") == 3 * batched
    with pytest.raises(InvalidProgram, match="2048 invocations on x"):
        way(e.backend, doubling(), DispatchConfig(workgroup_override=(2048, 1, 1)))


@EVERY_WAY
def test_the_budget_of_error_reaches_the_code(engine: Engine, way: Any) -> None:
    e = engine(double)
    way(e.backend, doubling(), DispatchConfig(ulp_budget=3))
    compiles = []
    for budget in (3, 0):
        e.backend.dispatch(doubling(), [A], DispatchConfig(ulp_budget=budget))
        compiles.append(e.ports[0].count("compile"))
    assert compiles == [1, 2]


@EVERY_WAY
def test_the_device_s_memory_is_looked_at_first(engine: Engine, way: Any) -> None:
    e = engine(double, profile=replace(generous_profile(), global_memory_bytes=39))
    with pytest.raises(DeviceOutOfMemory, match="40 bytes are needed, 39 are available"):
        way(e.backend, doubling(), DispatchConfig())
    assert e.ports[0].count("launch") == 0


def test_no_way_is_forgotten() -> None:
    """Whatever takes a configuration is in the table, by one name or another."""
    taking = {n for n, m in vars(VyreBackend).items() if "config" in getattr(m, "__annotations__", {})}
    assert taking == {
        *("dispatch", "dispatch_borrowed", "dispatch_borrowed_timed", "dispatch_borrowed_into"),
        *("dispatch_async", "dispatch_borrowed_async", "dispatch_resident", "dispatch_resident_timed"),
        "dispatch_with_device_buffers",
        *("compile_native", "compile_native_shared", "precompile"),
    }


def test_what_is_compiled_in_is_so_on_every_way(engine: Engine) -> None:
    backend = engine(double).backend
    pipeline, other = backend.compile_native(doubling()), DispatchConfig(ulp_budget=1)
    given = resident(backend)
    for use in (
        lambda: pipeline.dispatch([A], other),
        lambda: pipeline.dispatch_arrays({"a": A}, other),
        lambda: pipeline.dispatch_timed([A], other),
        lambda: pipeline.dispatch_into([A], other, []),
        lambda: pipeline.dispatch_batched([[A]], other),
        lambda: pipeline.dispatch_batched_into([[A]], other, []),
        lambda: pipeline.dispatch_async([A], other),
        lambda: pipeline.dispatch_resident(given, other),
        lambda: pipeline.dispatch_resident_timed(given, other),
    ):
        with pytest.raises(InvalidLaunch, match="ulp_budget"):
            use()
