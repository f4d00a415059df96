"""`compile` gives the backend's own pipeline, or a passthrough with the same results."""

from collections.abc import Mapping

import numpy as np
import pytest

from vyre_driver.backend.config import DispatchConfig
from vyre_driver.backend.pipeline import CompiledPipeline
from vyre_driver.errors import InvalidLaunch, InvalidProgram, OutputLimitExceeded, UnsupportedFeature
from vyre_driver.pipeline.compile import PassthroughPipeline, compile
from vyre_driver.plan.launch import LaunchPlan
from vyre_driver.testing.full import DEVICE_NS, FullBackend
from vyre_driver.testing.mock import MockBackend
from vyre_foundation.build import program
from vyre_foundation.dtype import u32
from vyre_foundation.ir.program import Program


def doubling() -> Program:
    with program("doubling", workgroup_size=4) as p:
        x = p.read_write("x", u32)
        i = p.global_id(0)
        x[i] = x[i] * 2
    return p.build()


def double(plan: LaunchPlan, memory: Mapping[str, memoryview]) -> None:
    x = np.frombuffer(memory["x"], np.uint32)
    x *= 2


X = np.arange(5, dtype=np.uint32)


def test_a_backend_that_compiles_nothing() -> None:
    pipeline = compile(MockBackend(double), doubling(), DispatchConfig(fixpoint_iterations=2))
    assert isinstance(pipeline, PassthroughPipeline)
    assert pipeline.id() == "mock:passthrough"
    assert pipeline.dispatch([X]) == [(4 * X).tobytes()]
    assert pipeline.dispatch([X], DispatchConfig()) == [(2 * X).tobytes()]
    assert pipeline.dispatch_timed([X]).device_ns is None
    with pytest.raises(OutputLimitExceeded):
        pipeline.dispatch([X], DispatchConfig(max_output_bytes=1))
    with pytest.raises(InvalidLaunch, match="workgroup_override"):
        pipeline.dispatch([X], DispatchConfig(workgroup_override=(2, 1, 1)))


def test_the_backend_s_own_pipeline() -> None:
    full = FullBackend(double)
    assert compile(full, doubling()).dispatch_timed([X]).device_ns == DEVICE_NS


def test_persistent_memory_needs_a_real_pipeline() -> None:
    p = program("persistent")
    p.persistent("k", u32, 1)
    with pytest.raises(UnsupportedFeature, match="mock does not support persistent buffers in a pipeline"):
        compile(MockBackend(double), p.build())


def test_an_invalid_program_is_refused_by_every_backend() -> None:
    with pytest.raises(InvalidProgram):
        compile(MockBackend(double), program("invalid", 0).build_unchecked())


class Least(CompiledPipeline):
    def id(self) -> str:
        return "least"

    def dispatch(self, inputs: object, config: DispatchConfig | None = None) -> list[memoryview]:
        return [memoryview(bytearray(bytes(i) * 2)) for i in inputs]  # type: ignore[attr-defined]


def test_every_default_of_a_pipeline() -> None:
    with Least() as pipeline:
        slots: list[object] = [bytearray(4), b"?"]
        first = slots[0]
        with pytest.raises(Exception, match="output buffer 1"):
            pipeline.dispatch_into([b"ab"], None, slots)
        del slots[1:]
        pipeline.dispatch_into([b"ab"], None, slots)
        assert slots == [b"abab"]
        assert slots[0] is first
        timed = pipeline.dispatch_timed([b"a"])
        assert (timed.outputs, timed.device_ns, timed.enqueue_ns) == ([b"aa"], None, None)
        assert pipeline.dispatch_batched([[b"a"], [b"b"]]) == [[b"aa"], [b"bb"]]
        rows: list[list[object]] = [[]]
        pipeline.dispatch_batched_into([[b"a"], [b"b"]], None, rows)
        assert rows == [[b"aa"], [b"bb"]]
        pipeline.dispatch_batched_into([[b"c"]], None, rows)
        assert rows == [[b"cc"]]
        with pytest.raises(UnsupportedFeature, match="least does not support resident dispatch of a pipeline"):
            pipeline.dispatch_resident_timed([])
