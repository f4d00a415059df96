"""The contract as tests: subclass, say how your backend is made, and pytest runs them on it.

class TestMine(BackendContract):
    def make(self) -> VyreBackend:
        return MyBackend()

What a backend need not have it may refuse with `UnsupportedFeature`, and with nothing else. Everything that it does has
to be right. Nothing here asks how it is done: `vyre-conform` judges the results of programs, these tests the calls.
"""

from __future__ import annotations

import asyncio
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from random import Random
from typing import Any, TypeVar

import numpy as np

from vyre_driver.backend.config import DispatchConfig, Preference
from vyre_driver.backend.contract import CONTRACT, VyreBackend
from vyre_driver.backend.executable import Executable
from vyre_driver.backend.resources import HostShimBuffer, ResidentDispatchStep, ResidentReadRange
from vyre_driver.backend.results import Outputs
from vyre_driver.engine.backend import EngineBackend
from vyre_driver.errors import (
    BackendError,
    DeviceOutOfMemory,
    DispatchTimeout,
    InvalidInput,
    InvalidLaunch,
    InvalidProgram,
    OutputLimitExceeded,
    PolicyDenied,
    StaleHandle,
    Trapped,
    UnsupportedFeature,
)
from vyre_driver.graph.record import GraphRecorder
from vyre_driver.observe.live import compile_many
from vyre_driver.pipeline.compile import compile
from vyre_driver.plan.admission import validate_program_for_backend
from vyre_driver.plan.limits import exceeded_geometry
from vyre_driver.plan.shapes import (
    borrowed_input_batch_shapes_match,
    borrowed_input_shapes_match,
    dispatch_configs_share_launch_shape,
)
from vyre_driver.policy.enforce import AllowedOps, GatedBackend
from vyre_driver.schedule.compiled import compile_graph
from vyre_driver.testing.capabilities import (
    UNSHOWN,
    USES,
    contradictions,
    false_claim,
    false_timing,
    mismatches,
)
from vyre_driver.testing.interrupts import in_thread, interrupted_everywhere
from vyre_driver.testing.witnesses import TAG, WitnessProgram, counting, doubling, in_place, permuted, trapping
from vyre_foundation import build
from vyre_foundation.dtype import f64, i64, u32, u64
from vyre_foundation.ir.program import Program

ResultT = TypeVar("ResultT")


class BackendContract(ABC):
    """Each test gets a fresh backend, which is shut down behind it."""

    @abstractmethod
    def make(self) -> VyreBackend:
        """A backend of the kind under test."""

    @contextmanager
    def backend(self) -> Iterator[VyreBackend]:
        """A backend for the length of a `with` block. What it counts as held is nothing in the end."""
        backend = self.make()
        try:
            yield backend
        finally:
            backend.shutdown()
        counts = backend.backend_metric_snapshot()
        assert counts.get("bytes_allocated", 0) == counts.get("bytes_freed", 0), "memory is still held"

    # ── who it is ────────────────────────────────────────────────────────────────────────────────────────────────────

    def test_it_says_who_it_is(self) -> None:
        """Id, version, contract and operations are stated, and equal for two backends."""
        with self.backend() as backend, self.backend() as other:
            assert backend.id() == other.id() != ""
            assert (backend.contract, bool(backend.version())) == (CONTRACT, True)
            assert backend.supported_ops() == other.supported_ops()

    def test_its_profile_is_what_its_queries_answer(self) -> None:
        """The device profile and the capability queries give the same facts."""
        with self.backend() as backend:
            assert backend.device_profile().backend == backend.id()
            assert list(mismatches(backend)) == []

    def test_its_profile_is_what_its_target_has_words_for(self) -> None:
        """Of an engine: what it has itself is what its emitter spells."""
        with self.backend() as backend:
            if isinstance(backend, EngineBackend):
                with backend.session() as device:
                    assert list(contradictions(device.stated, device.target)) == []

    def test_each_claim_is_used(self) -> None:
        """What is claimed gives the right result; what is denied gives it too, or is refused."""
        with self.backend() as backend:
            assert [wrong for name in (*USES, *UNSHOWN) if (wrong := false_claim(backend, name))] == []
            assert false_timing(backend) == ""

    def test_a_workgroup_at_its_limit_runs(self) -> None:
        """A workgroup of the greatest size that the backend states runs."""
        with self.backend() as backend:
            most = min(backend.max_workgroup_size()[0], backend.max_compute_invocations_per_workgroup(), 1024)
            config = DispatchConfig(workgroup_override=(most, 1, 1))
            assert not list(exceeded_geometry(doubling().program, (1, 1, 1), backend.device_profile())) or most < 64
            require(backend.dispatch(doubling().program, doubling().given, config), doubling())

    # ── dispatch ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def test_every_way_in_gives_the_same(self) -> None:
        """Every method that dispatches gives the outputs that NumPy gives."""
        with self.backend() as backend:
            for witness in (doubling(), in_place(), permuted(), doubling(1), doubling(0)):
                program, given, config = witness.program, witness.given, DispatchConfig()
                require(backend.dispatch(program, given), witness)
                require(backend.dispatch_borrowed(program, given), witness)
                require(backend.dispatch_borrowed_timed(program, given).outputs, witness)
                require(backend.dispatch_async(program, given).await_result(), witness)
                require(backend.dispatch_borrowed_async(program, given).await_result(10), witness)
                arrays = backend.dispatch_arrays(program, witness.inputs)
                require([memoryview(arrays[b.name].tobytes()) for b in program.outputs], witness)
                slots: list[Any] = []
                backend.dispatch_borrowed_into(program, given, config, slots)
                require(slots, witness)

    def test_every_way_through_a_pipeline_gives_the_same(self) -> None:
        """Every method of a pipeline that dispatches gives the outputs that NumPy gives."""
        with self.backend() as backend:
            for witness in (doubling(), in_place()):
                given = witness.given
                with compile(backend, witness.program) as pipeline:
                    assert isinstance(pipeline, Executable)
                    assert pipeline.id().partition(":")[0] == backend.id()
                    require(pipeline.dispatch(given), witness)
                    require(pipeline.dispatch_timed(given).outputs, witness)
                    slots: list[Any] = []
                    pipeline.dispatch_into(given, None, slots)
                    require(slots, witness)
                    for outputs in pipeline.dispatch_batched([given, given]):
                        require(outputs, witness)
                    rows: list[Any] = []
                    pipeline.dispatch_batched_into([given], None, rows)
                    require(rows[0], witness)
                pipeline.close()

    def test_a_closed_pipeline_dispatches_no_more(self) -> None:
        """Once it is closed every method of a pipeline that dispatches raises `StaleHandle`.

        A dispatch that was submitted before gives its outputs, and other pipelines of the program are as before.
        """
        with self.backend() as backend:
            witness = doubling()
            given, slots, rows = witness.given, [], []  # type: ignore[var-annotated]
            pipeline, other = compile(backend, witness.program), compile(backend, witness.program)
            pending = pipeline.dispatch_async(given)
            pipeline.close()
            require(pending.await_result(), witness)
            refused(StaleHandle, lambda: pipeline.dispatch(given))
            refused(StaleHandle, lambda: pipeline.dispatch_timed(given))
            refused(StaleHandle, lambda: pipeline.dispatch_into(given, None, slots))
            refused(StaleHandle, lambda: pipeline.dispatch_batched([given]))
            refused(StaleHandle, lambda: pipeline.dispatch_batched_into([given], None, rows))
            refused(StaleHandle, lambda: pipeline.dispatch_async(given).await_result())
            for by_name in (pipeline.dispatch_arrays, partial(pipeline.dispatch_arrays, config=DispatchConfig())):
                refused((StaleHandle, UnsupportedFeature), partial(by_name, witness.inputs))
            sizes = (witness.given[0].nbytes,) * 2
            resources = possible(lambda: [backend.allocate_resident(size) for size in sizes]) or []
            for over_resources in (pipeline.dispatch_resident, pipeline.dispatch_resident_timed):
                refused((StaleHandle, UnsupportedFeature), partial(over_resources, resources))
            assert not slots, "a refused dispatch has stored outputs"
            pipeline.close()
            require(other.dispatch(given), witness)
            other.close()

    def test_a_flush_waits_for_everything_submitted(self) -> None:
        """Once `flush` has returned every dispatch before it is ready."""
        with self.backend() as backend:
            backend.flush()
            witness, often = in_place(1 << 12), DispatchConfig(fixpoint_iterations=50)
            pending = [backend.dispatch_async(witness.program, witness.given, often) for _ in range(3)]
            backend.flush()
            assert all(one.is_ready() for one in pending), "a flush returned while a dispatch was pending"
            for one in pending:
                x, _ = one.await_result()
                assert bytes(x) == (witness.inputs["x"] + 250).tobytes()

    def test_a_timeout_ends_the_dispatch_alone(self) -> None:
        """A dispatch that exceeds its timeout has no outputs, and everything else is as before.

        That is the backend, later dispatches, and a pipeline without persistent memory.
        """
        with self.backend() as backend, compile(backend, doubling().program) as pipeline:
            witness, soon, late = doubling(), DispatchConfig(timeout=1e-9), DispatchConfig(timeout=600.0)
            for dispatch in (partial(backend.dispatch, witness.program), pipeline.dispatch):
                if self.ignores_timeouts:
                    continue
                error = refused(DispatchTimeout, partial(dispatch, witness.given, soon))
                assert error.fields["seconds"] == 1e-9
                require(dispatch(witness.given, late), witness)
                require(dispatch(witness.given), witness)
            assert not backend.device_lost()

    ignores_timeouts = False
    """Of a stand-in that computes at the call, however long that takes."""

    def test_the_limit_of_a_wait_leaves_the_dispatch_pending(self) -> None:
        """A wait that ends by its own timeout takes nothing away: the next one gives the outputs."""
        with self.backend() as backend:
            witness, often = in_place(1 << 12), DispatchConfig(fixpoint_iterations=50)
            for timeout in (0, 1e-9, 1e-5, 1e-4, 0.01):
                pending = backend.dispatch_async(witness.program, witness.given, often)
                for _ in range(3):
                    with suppress(DispatchTimeout):
                        pending.await_result(timeout)
                wrongs: tuple[Any, ...] = (-1, math.nan, math.inf, "1", True)
                for wrong in wrongs:
                    refused(InvalidInput, partial(pending.await_result, wrong))
                x, _ = pending.await_result()
                assert bytes(x) == (witness.inputs["x"] + 250).tobytes()

    def test_it_can_be_awaited(self) -> None:
        """A pending dispatch is awaitable in an event loop."""
        with self.backend() as backend:

            async def dispatched() -> Outputs:
                return await backend.dispatch_async(doubling().program, doubling().given)

            require(asyncio.run(dispatched()), doubling())

    def test_times_are_not_negative_and_parts_are_no_longer_than_the_whole(self) -> None:
        """Times are at least 0, and enqueueing takes no longer than the whole dispatch."""
        with self.backend() as backend:
            timed = backend.dispatch_borrowed_timed(doubling().program, doubling().given)
            for part in (timed.enqueue_ns, timed.wait_ns, timed.device_ns):
                assert part is None or part >= 0
            assert timed.wall_ns >= (timed.enqueue_ns or 0)

    def test_slots_that_fit_keep_their_memory(self) -> None:
        """Outputs are written into slots of the right size; others are replaced."""
        with self.backend() as backend:
            witness = doubling()
            slot, wrong = bytearray(len(witness.expected[0])), bytearray(3)
            for slots in ([slot], [wrong], [slot, wrong]):
                backend.dispatch_borrowed_into(witness.program, witness.given, DispatchConfig(), slots)  # type: ignore[arg-type]
                require(slots, witness)
            assert bytes(slot) == witness.expected[0]
            assert wrong == bytearray(3)

    def test_inputs_stay_and_outputs_are_the_callers(self) -> None:
        """Inputs are not changed, and outputs share no memory with inputs or later dispatches."""
        with self.backend() as backend:
            witness = in_place()
            given = witness.given
            first = backend.dispatch(witness.program, given)
            assert [array.tobytes() for array in given] == [array.tobytes() for array in witness.given]
            for array in given:
                array[:] = 0
            require(first, witness)
            for view in first:
                memoryview(view)[:] = bytes(view.nbytes)
            require(backend.dispatch(witness.program, witness.given), witness)

    def test_several_threads_at_once(self) -> None:
        """Dispatches from four threads at once give the right outputs."""
        with self.backend() as backend, compile(backend, in_place().program) as pipeline:

            def one(count: int) -> None:
                require(backend.dispatch(doubling(count).program, doubling(count).given), doubling(count))
                require(pipeline.dispatch(in_place(count).given), in_place(count))

            with ThreadPoolExecutor(4) as threads:
                list(threads.map(one, [100, 5, 64, 1000, 1, 333, 5, 100]))

    # ── what is asked of a dispatch ──────────────────────────────────────────────────────────────────────────────────

    def test_it_works_after_an_interrupt_anywhere(self) -> None:
        """After an interrupt at each of up to 60 places of a call, this thread and another can use the backend."""
        witness = doubling()

        def waited() -> None:
            backend.dispatch_async(witness.program, witness.given).await_result(60.0)

        with self.backend() as backend:
            dispatch = partial(backend.dispatch, witness.program, witness.given)
            for call in (dispatch, partial(dispatch, DispatchConfig(timeout=60.0)), waited):
                for _ in interrupted_everywhere(call, most=60):
                    backend.flush()
                    require(in_thread(dispatch), witness)

    def test_geometry_is_the_callers(self) -> None:
        """The workgroup size and grid of the configuration are used, also an empty grid."""
        with self.backend() as backend:
            witness = doubling(100)
            for size in (1, 4, 64):
                config = DispatchConfig(workgroup_override=(size, 1, 1))
                require(backend.dispatch(witness.program, witness.given, config), witness)
            (nothing,) = backend.dispatch(witness.program, witness.given, DispatchConfig(grid_override=(0, 1, 1)))
            assert bytes(nothing) == bytes(400)

    def test_repeats_run_over_the_same_memory(self) -> None:
        """Each iteration of one dispatch begins with what the one before left."""
        with self.backend() as backend:
            witness = in_place()
            thrice = DispatchConfig(fixpoint_iterations=3)
            x, _ = backend.dispatch(witness.program, witness.given, thrice)
            assert bytes(x) == (witness.inputs["x"] + 15).tobytes()

    def test_outputs_stay_within_their_budget(self) -> None:
        """Outputs of exactly `max_output_bytes` are given, longer ones refused."""
        with self.backend() as backend:
            witness = doubling(100)
            require(backend.dispatch(witness.program, witness.given, DispatchConfig(max_output_bytes=400)), witness)
            refused(OutputLimitExceeded, lambda: backend.dispatch(witness.program, witness.given, below(400)))

    states_its_ops = True
    """Whether `supported_ops` has all ops that the backend executes; without that nothing can be asked beforehand."""

    def test_who_asks_first_hears_what_a_dispatch_would(self) -> None:
        """`validate_program_for_backend`, and `compile_native` where it is the backend's own, agree with `dispatch`."""
        with self.backend() as backend:
            if not self.states_its_ops:
                return
            witness = doubling()
            demands = [
                *(DispatchConfig(), DispatchConfig(grid_override=(0, 1, 1))),
                *(DispatchConfig(workgroup_override=(n, 1, 1)) for n in (1, 1024, 1025)),
                *(DispatchConfig(grid_override=grid) for grid in ((2**32 - 1, 2**32 - 1, 1), (1, 2**26, 2**26))),
            ]
            forced = Preference.FORCE
            demands += [DispatchConfig(speculation=forced), DispatchConfig(persistent_thread=forced)]
            demands += [DispatchConfig(cooperative=True)]
            asked = [(witness.program, witness.given, config) for config in demands]
            asked += [(p, [], DispatchConfig()) for p in demanding()]
            compiles = type(backend).compile_native is not VyreBackend.compile_native
            for program, given, config in asked:
                ways = (
                    lambda: backend.dispatch(program, given, config),  # noqa: B023
                    lambda: validate_program_for_backend(backend, program, config),  # noqa: B023
                    lambda: backend.compile_native(program, config),  # noqa: B023
                )
                refusals = {refusal(way) for way in (ways if compiles else ways[:2])}
                assert len(refusals) == 1, f"{program.name} with {config}: {refusals}"

    def test_a_gate_has_no_way_around_it(self) -> None:
        """A program that a gate denies is neither compiled nor run, on any way, also together with others."""
        with self.backend() as backend:
            gated, program = GatedBackend(backend, AllowedOps({"add"})), doubling().program
            before = backend.backend_metric_snapshot()
            refused(PolicyDenied, lambda: gated.dispatch(program, doubling().given))
            refused(PolicyDenied, lambda: gated.dispatch_arrays(program, doubling().inputs))
            refused(PolicyDenied, lambda: gated.dispatch_async(program, doubling().given))
            refused(PolicyDenied, lambda: gated.precompile([program]))
            refused(PolicyDenied, lambda: compile(gated, program))
            refused(PolicyDenied, lambda: compile_many(gated, [program, program]))
            step = ResidentDispatchStep(program=program, resources=())
            refused(PolicyDenied, lambda: gated.dispatch_resident_timed(program, []))
            refused(PolicyDenied, lambda: gated.dispatch_resident_sequence_read_ranges_into([step], [], []))
            assert backend.backend_metric_snapshot() == before

    def test_wrong_calls_raise_and_change_nothing(self) -> None:
        """Wrong inputs and invalid programs raise typed errors, and later dispatches are right."""
        with self.backend() as backend:
            witness = in_place()
            program, (x, n) = witness.program, witness.given
            refused(InvalidInput, lambda: backend.dispatch(program, [x]))
            refused(InvalidInput, lambda: backend.dispatch(program, [x, n, n]))
            refused(InvalidInput, lambda: backend.dispatch(program, [x.view("u1")[:-1], n]))
            refused(InvalidInput, lambda: backend.dispatch(program, [x, x]))
            broken = replace(program, workgroup_size=(2**20, 1, 1))
            refused(InvalidProgram, lambda: backend.dispatch(broken, [x, n]))
            refused(InvalidProgram, lambda: compile(backend, broken))
            require(backend.dispatch(program, [x, n]), witness)

    def test_a_trap_is_raised_and_does_not_stay(self) -> None:
        """A trap is raised with tag, code and invocation; the next dispatch does not have it."""
        with self.backend() as backend:
            witness = trapping()
            quiet = replace(witness, inputs={"x": witness.inputs["x"][:7]})
            if possible(lambda: backend.dispatch(quiet.program, quiet.given)) is None:
                return
            for _ in range(2):
                trap = refused(Trapped, lambda: backend.dispatch(witness.program, witness.given))
                assert (trap.tag, trap.trap_code, trap.invocation) == (TAG, 7, 7)
            require(backend.dispatch(quiet.program, quiet.given), quiet)

    def test_a_pipeline_keeps_persistent_memory_and_a_dispatch_does_not(self) -> None:
        """Persistent memory lasts from one dispatch of a pipeline to the next, and is zero in each other dispatch."""
        with self.backend() as backend:
            witness = counting()
            for _ in range(2):
                require(backend.dispatch(witness.program, witness.given), witness)
            pipeline = possible(lambda: compile(backend, witness.program))
            if pipeline is None or self.pipelines_forget:
                return
            with pipeline:
                for times in (1, 2, 3):
                    (out,) = pipeline.dispatch(witness.given)
                    assert bytes(out) == (witness.inputs["x"] * times).tobytes()

    pipelines_forget = False
    """Of a stand-in whose pipelines are plain dispatches."""

    # ── memory on the device ─────────────────────────────────────────────────────────────────────────────────────────

    def test_resident_memory_holds_what_is_put_there(self) -> None:
        """Resident memory is zero at first; uploads and downloads reach the bytes that they name."""
        with self.backend() as backend:
            resource = possible(lambda: backend.allocate_resident(16))
            if resource is None:
                return
            assert bytes(backend.download_resident(resource)) == bytes(16), "new memory is not zero"
            backend.upload_resident(resource, bytes(range(16)))
            assert bytes(backend.download_resident_range(resource, 2, 8)) == bytes(range(2, 10)), (
                "a download from byte 2 gives other bytes: look whether copies out honour their offset"
            )
            backend.upload_resident_at(resource, 4, b"four")
            assert bytes(backend.download_resident_range(resource, 2, 8)) == b"\x02\x03four\x08\x09", (
                "an upload to byte 4 went elsewhere: look whether copies in honour their offset"
            )
            backend.upload_resident_at_many([(resource, 0, b"a"), (resource, 0, b"b")])
            into = bytearray(2)
            backend.download_resident_range_into(resource, 0, 2, into)
            assert into == b"b\x01"
            refused(InvalidInput, lambda: backend.upload_resident(resource, bytes(15)))
            refused(InvalidInput, lambda: backend.download_resident_range(resource, 9, 8))
            backend.free_resident(resource)
            refused(StaleHandle, lambda: backend.download_resident(resource))
            refused(StaleHandle, lambda: backend.free_resident(resource))
            with backend.allocate_resident(16) as scoped:
                assert bytes(backend.download_resident(scoped)) == bytes(16)
            refused(StaleHandle, lambda: backend.download_resident(scoped))

    def test_memory_that_a_device_does_not_have_is_refused(self) -> None:
        """The error is typed, and what the device has is there afterwards."""
        with self.backend() as backend:
            for size in (1 << 50, (1 << 63) - 1, 1 << 64):
                possible(lambda size=size: refused(DeviceOutOfMemory, lambda: backend.allocate_resident(size)))  # type: ignore[misc]
            resource = possible(lambda: backend.allocate_resident(16))
            assert resource is None or bytes(backend.download_resident(resource)) == bytes(16)

    def test_resident_memory_is_memory(self) -> None:
        """Uploads in order, whatever overlaps, touches or is empty, beside an array of bytes."""
        with self.backend() as backend:
            rng, model = Random(7), [bytearray(50), bytearray(17)]
            found = [possible(partial(backend.allocate_resident, len(array))) for array in model]
            resources = [resource for resource in found if resource is not None]
            if len(resources) < len(model):
                return
            for _ in range(40):
                uploads = []
                for _part in range(rng.randrange(4)):
                    chosen = rng.randrange(len(model))
                    start, stop = sorted(rng.randrange(len(model[chosen]) + 1) for _ in "ab")
                    data = rng.randbytes(stop - start)
                    model[chosen][start:stop] = data
                    uploads.append((resources[chosen], start, data))
                backend.upload_resident_at_many(uploads)
                ends = [sorted(rng.randrange(len(array) + 1) for _ in "ab") for array in model]
                parts = [
                    ResidentReadRange(resource=resource, byte_offset=start, byte_len=stop - start)
                    for resource, (start, stop) in zip(resources, ends, strict=True)
                ]
                targets = [bytearray(part.byte_len) for part in parts]
                backend.download_resident_ranges_into(parts, targets)
                assert targets == [array[start:stop] for array, (start, stop) in zip(model, ends, strict=True)]

    def test_a_program_runs_over_resident_memory(self) -> None:
        """A program reads and writes resident memory, by way of the backend and of a pipeline."""
        with self.backend() as backend:
            witness = doubling(64)
            x, out = (possible(lambda: backend.allocate_resident(256)) for _ in range(2))
            if x is None or out is None:
                return
            backend.upload_resident(x, witness.given[0])
            if possible(lambda: backend.dispatch_resident_timed(witness.program, [x, out])) is None:
                return
            require([backend.download_resident(out)], witness)
            with compile(backend, witness.program) as pipeline:  # what the backend does its pipelines do
                backend.upload_resident(out, bytes(256))
                pipeline.dispatch_resident([x, out])
                require([backend.download_resident(out)], witness)
                backend.upload_resident(out, bytes(256))
                assert pipeline.dispatch_resident_timed([x, out]).outputs == []
                require([backend.download_resident(out)], witness)
            steps = [ResidentDispatchStep(program=witness.program, resources=pair) for pair in ((x, out), (out, x))]
            target = bytearray(256)
            part = ResidentReadRange(resource=x, byte_offset=0, byte_len=256)
            backend.dispatch_resident_sequence_read_ranges_into(steps, [part], [target])
            assert bytes(target) == (witness.inputs["x"] * 4).tobytes()
            backend.dispatch_resident_repeated_sequence_read_ranges_into([], steps, 2, [part], [target])
            assert bytes(target) == (witness.inputs["x"] * 64).tobytes()

    def test_a_graph_gives_what_its_dispatches_give(self) -> None:
        """A graph with a loop, by whatever executor the backend allows: its definition, and its launches."""
        with self.backend() as backend:
            witness, other = doubling(64), in_place(64)
            g = GraphRecorder("contract")
            x, y = g.input("x", u32, 64), g.input("y", u32, 64)
            with g.repeat(3):
                doubled = g.dispatch(witness.program, x=x)["out"]
                g.dispatch(witness.program, x=doubled, out=x)
            g.dispatch(other.program, x=x, n=np.array([5], np.uint32))
            g.output("x", x)
            g.output("y", g.dispatch(witness.program, x=y)["out"])
            given = witness.inputs["x"]
            expected = {"x": given * np.uint32(64) + np.uint32(5), "y": given * np.uint32(2)}
            compiled = possible(lambda: compile_graph(g.build(), backend, fusion=False))
            if compiled is None:
                return
            with compiled as run:
                results = [run.run(x=given, y=given), run.launch(x=given, y=given).result()]
            for result in results:
                assert {name: array.tolist() for name, array in result.items()} == {
                    name: array.tolist() for name, array in expected.items()
                }

    def test_device_buffers_are_its_own(self) -> None:
        """Device buffers carry data and are dispatched over; foreign and freed ones are refused."""
        with self.backend() as backend:
            witness = doubling(64)
            foreign = HostShimBuffer("somebody else", bytes(256))
            refused(StaleHandle, lambda: backend.dispatch_with_device_buffers(witness.program, [foreign], [foreign]))
            x, out = (possible(lambda: backend.allocate_device_buffer(256)) for _ in range(2))
            if x is None or out is None:
                return
            assert (x.backend_id(), x.byte_len()) == (backend.id(), 256)
            backend.upload_device_buffer(x, witness.given[0])
            backend.dispatch_with_device_buffers(witness.program, [x], [out])
            require([backend.download_device_buffer(out)], witness)
            backend.free_device_buffer(x)
            refused(StaleHandle, lambda: backend.download_device_buffer(x))

    # ── its life ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def test_counts_only_grow(self) -> None:
        """Metrics and cache counts never decrease."""
        with self.backend() as backend:
            before, hits = backend.backend_metric_snapshot(), backend.pipeline_cache_snapshot()
            require(backend.dispatch(doubling().program, doubling().given), doubling())
            after, later = backend.backend_metric_snapshot(), backend.pipeline_cache_snapshot()
            assert before.keys() <= after.keys()
            assert all(after[name] >= count for name, count in before.items())
            if hits is not None and later is not None:
                assert (later.hits, later.misses) >= (hits.hits, hits.misses)

    def test_counts_are_those_of_the_run(self) -> None:
        """Of what the backend counts at all: dispatches in every form, and the bytes that were asked to move."""
        with self.backend() as backend:
            witness = doubling(64)
            before = backend.backend_metric_snapshot()
            backend.dispatch(witness.program, witness.given)
            backend.dispatch_async(witness.program, witness.given).await_result()
            with compile(backend, witness.program) as pipeline:
                pipeline.dispatch_batched([witness.given] * 3)
            between = backend.backend_metric_snapshot()
            if "dispatches" in before:
                assert between["dispatches"] - before["dispatches"] == 5
            resource = possible(lambda: backend.allocate_resident(256))
            if resource is None or "bytes_in" not in before:
                return
            backend.upload_resident(resource, bytes(256))
            backend.upload_resident_at(resource, 8, bytes(40))
            backend.download_resident_range(resource, 0, 100)
            after = backend.backend_metric_snapshot()
            moved = {name: after[name] - between[name] for name in ("bytes_in", "bytes_out", "copies_in", "copies_out")}
            assert moved == {"bytes_in": 296, "bytes_out": 100, "copies_in": 2, "copies_out": 1}

    def test_calls_that_look_alike_are_planned_and_compiled_once(self) -> None:
        """Dispatches of equal shape and launch configuration are neither planned nor compiled again."""
        with self.backend() as backend:
            first, other = doubling(64), doubling(65)
            plain = DispatchConfig()
            same, apart = plain.replace(label="again", timeout=60.0), plain.replace(fixpoint_iterations=2)
            assert dispatch_configs_share_launch_shape(plain, same)
            assert not dispatch_configs_share_launch_shape(plain, apart)
            assert borrowed_input_batch_shapes_match([first.given, [array + 1 for array in first.given]])
            assert not borrowed_input_shapes_match(first.given, other.given)
            backend.dispatch(first.program, first.given, plain)
            before = backend.backend_metric_snapshot()
            for config in (plain, same):
                backend.dispatch(first.program, [array + 1 for array in first.given], config)
            after = backend.backend_metric_snapshot()
            for name in {"plans", "compiles"} & before.keys():
                assert after[name] == before[name], name

    def test_hooks_can_be_called_at_any_time(self) -> None:
        """`prepare`, `flush`, `try_recover` and a second `shutdown` do no harm."""
        backend = self.make()
        backend.prepare()
        backend.flush()
        assert not backend.device_lost()
        require(backend.dispatch(doubling().program, doubling().given), doubling())
        possible(backend.try_recover)
        require(backend.dispatch(doubling().program, doubling().given), doubling())
        backend.shutdown()
        backend.shutdown()


def require(outputs: Any, witness: WitnessProgram) -> None:
    """The outputs that the witness must have, all of them and nothing else."""
    assert [bytes(view) for view in outputs] == witness.expected, witness.program.name


def below(size: int) -> DispatchConfig:
    """A configuration whose output budget is one byte less than `size`."""
    return DispatchConfig(max_output_bytes=size - 1)


def possible(call: Callable[[], ResultT]) -> ResultT | None:
    """What `call` gives; None if the backend cannot, and says so."""
    try:
        return call()
    except UnsupportedFeature:
        return None


def refusal(call: Callable[[], object]) -> type[BackendError] | None:
    """The kind of the error with which `call` refuses a program, a launch or a feature; None if it does not."""
    try:
        call()
    except (UnsupportedFeature, InvalidProgram, InvalidLaunch) as error:
        return type(error)
    return None


def demanding() -> Iterator[Program]:
    """Programs that need something of a device which nothing replaces."""
    for name, dtype in (("doubles", f64), ("longs", i64)):
        with build.program(name, workgroup_size=1) as p:
            p.write("out", dtype, 1)[p.global_id(0)] = build.constant(dtype, 3)
        yield p.build()
    with build.program("atomics", workgroup_size=1) as p:
        p.write("out", u64, 1).atomic_add(p.global_id(0), 1)
    yield p.build()


ErrorT = TypeVar("ErrorT", bound=BackendError)


def refused(kind: type[ErrorT] | tuple[type[ErrorT], ...], call: Callable[[], object]) -> ErrorT:
    """The error of this kind, or one of these, that `call` raises."""
    try:
        call()
    except kind as error:
        raised = error
    else:
        kinds = kind if isinstance(kind, tuple) else (kind,)
        raise AssertionError(f"nothing was raised, expected {' or '.join(each.__name__ for each in kinds)}")
    assert "Fix: " in str(raised), "it says no remedy"
    return raised
