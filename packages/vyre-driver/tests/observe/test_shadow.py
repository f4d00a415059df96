"""Shadowing: every injected difference is caught at its place, and nothing else changes for the caller."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from vyre_driver.backend.config import DispatchConfig
from vyre_driver.backend.contract import VyreBackend
from vyre_driver.backend.delegate import contract_methods
from vyre_driver.backend.pipeline import CompiledPipeline
from vyre_driver.errors import DeviceLost, DispatchFailed, ShadowDiverged, Trapped
from vyre_driver.observe.shadow import DivergenceEvent, OnDivergence, ShadowPolicy
from vyre_driver.observe.shadowed import ShadowedBackend, ShadowedPipeline, _passed_by
from vyre_driver.pipeline.compile import compile
from vyre_driver.testing.full import FullBackend
from vyre_driver.testing.mock import MockBackend
from vyre_foundation import program, u32

RECORD = OnDivergence.RECORD


def double(plan, memory) -> None:
    np.frombuffer(memory["out"], np.uint32)[:] = 2 * np.frombuffer(memory["a"], np.uint32)


def flipped(plan, memory) -> None:
    """One bit of one element is wrong."""
    double(plan, memory)
    np.frombuffer(memory["out"], np.uint32)[3] ^= 1 << 7


def trap(tag: str):
    def evaluate(plan, memory) -> None:
        raise Trapped(tag, 7, 3)

    return evaluate


def shadowed(primary=double, reference=double, **policy) -> ShadowedBackend:
    return ShadowedBackend(FullBackend(primary, "mine"), MockBackend(reference, "reference"), ShadowPolicy(**policy))


def test_agreement_changes_nothing(doubling, words) -> None:
    backend = shadowed()
    outputs = backend.dispatch(doubling, [words])
    assert np.frombuffer(outputs[0], np.uint32).tolist() == [0, 2, 4, 6, 8, 10]
    assert backend.shadow.counts.compared == 1
    assert not backend.shadow.events


def test_one_wrong_bit_is_raised_at_its_place(doubling, words) -> None:
    with pytest.raises(ShadowDiverged) as caught:
        shadowed(flipped).dispatch(doubling, [words])
    assert str(caught.value).startswith(
        "program 'doubling': mine does not agree with reference: "
        "out[3]: got 134 (0x00000086), expected 6 (0x00000006). Fix: "
    )


CALLS = {
    "dispatch": lambda b, p, w: b.dispatch(p, [w]),
    "dispatch_borrowed": lambda b, p, w: b.dispatch_borrowed(p, [w]),
    "dispatch_borrowed_timed": lambda b, p, w: b.dispatch_borrowed_timed(p, [w]),
    "dispatch_borrowed_into": lambda b, p, w: b.dispatch_borrowed_into(p, [w], DispatchConfig(), [bytearray(24)]),
    "dispatch_async": lambda b, p, w: b.dispatch_async(p, [w]).await_result(),
    "dispatch_borrowed_async": lambda b, p, w: b.dispatch_borrowed_async(p, [w]).await_result(),
    "dispatch_arrays": lambda b, p, w: b.dispatch_arrays(p, {"a": np.frombuffer(w, np.uint32)}),
    "pipeline dispatch": lambda b, p, w: compile(b, p).dispatch([w]),
    "pipeline dispatch_timed": lambda b, p, w: compile(b, p).dispatch_timed([w]),
    "pipeline dispatch_into": lambda b, p, w: compile(b, p).dispatch_into([w], None, []),
    "pipeline dispatch_batched": lambda b, p, w: compile(b, p).dispatch_batched([[w]]),
    "pipeline dispatch_batched_into": lambda b, p, w: compile(b, p).dispatch_batched_into([[w]], None, []),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_every_form_of_dispatch_is_compared(call, doubling, words) -> None:
    backend = shadowed(flipped)
    with pytest.raises(ShadowDiverged):
        call(backend, doubling, words)
    assert backend.shadow.counts.diverged == 1


def test_no_form_of_dispatch_is_forgotten() -> None:
    for shadow, contract in ((ShadowedBackend, VyreBackend), (ShadowedPipeline, CompiledPipeline)):
        forms = {name for name in contract_methods(contract) if name.startswith("dispatch")}
        assert forms <= set(vars(shadow))
        passed_by = {name for name in forms if vars(shadow)[name].__code__ is _passed_by("any").__code__}
        assert all("resident" in name or "device_buffers" in name for name in passed_by)


@pytest.mark.parametrize(("every", "compared"), [(1, 7), (3, 3), (7, 1), (0, 0)])
def test_one_in_so_many_beginning_with_the_first(every: int, compared: int, doubling, words) -> None:
    backend = shadowed(flipped, every=every, on_divergence=RECORD)
    for _ in range(7):
        backend.dispatch(doubling, [words])
    assert backend.shadow.counts.dispatches == 7
    assert backend.shadow.counts.compared == backend.shadow.counts.diverged == compared
    assert [event.number for event in backend.shadow.events] == ([] if not every else list(range(0, 7, every)))


def test_a_callback_gets_the_event(doubling, words) -> None:
    events: list[DivergenceEvent] = []
    shadowed(flipped, on_divergence=events.append).dispatch(doubling, [words], DispatchConfig(label="night"))
    (event,) = events
    assert (event.program, event.label, event.primary, event.reference) == ("doubling", "night", "mine", "reference")
    assert event.mismatch is not None
    assert (event.mismatch.output, event.mismatch.index) == ("out", 3)
    assert event.fingerprint == doubling.fingerprint()
    assert event.is_proven


def test_only_so_many_events_are_kept(doubling, words) -> None:
    backend = shadowed(flipped, on_divergence=RECORD, max_events=2)
    for _ in range(5):
        backend.dispatch(doubling, [words])
    assert [event.number for event in backend.shadow.events] == [3, 4]


def test_an_input_that_is_also_the_output_is_copied_before(words) -> None:
    with program("increment", workgroup_size=4) as p:
        a = p.read_write("a", u32)
        a[p.global_id(0)] = a[p.global_id(0)] + 1
    increment = p.build()

    def evaluate(plan, memory) -> None:
        np.frombuffer(memory["a"], np.uint32)[:] += 1

    backend = shadowed(evaluate, evaluate)
    memory = bytearray(words)
    for _ in range(3):
        backend.dispatch_borrowed_into(increment, [memory], DispatchConfig(), [memory])
    assert np.frombuffer(memory, np.uint32).tolist() == [3, 4, 5, 6, 7, 8]
    assert backend.shadow.counts.compared == 3


# ── ends that are no outputs ──


def test_equal_traps_agree_and_come_through(doubling, words) -> None:
    backend = shadowed(trap("bad"), trap("bad"))
    with pytest.raises(Trapped):
        backend.dispatch(doubling, [words])
    assert (backend.shadow.counts.compared, backend.shadow.counts.diverged) == (1, 0)


@pytest.mark.parametrize(
    ("primary", "reference", "words_of"),
    [
        (trap("bad"), double, "got invocation 3 trapped with 'bad', code 7, expected 1 outputs"),
        (double, trap("bad"), "got 1 outputs, expected invocation 3 trapped with 'bad', code 7"),
        (trap("bad"), trap("worse"), "expected invocation 3 trapped with 'worse'"),
    ],
)
def test_unequal_ends_differ(primary, reference, words_of: str, doubling, words) -> None:
    with pytest.raises(ShadowDiverged, match=words_of):
        shadowed(primary, reference).dispatch(doubling, [words])


def test_a_failure_of_the_primary_is_its_own(doubling, words) -> None:
    backend = shadowed()
    backend.inner.lose_device()
    with pytest.raises(DeviceLost):
        backend.dispatch(doubling, [words])
    assert backend.shadow.counts.compared == 0


def test_a_failure_of_the_reference_hides_nothing(doubling, words, caplog) -> None:
    def fail(plan, memory) -> None:
        raise DispatchFailed("it is tired", backend="reference")

    backend = shadowed(double, fail)
    assert backend.dispatch(doubling, [words])
    assert backend.shadow.counts.reference_failed == 1
    assert "reference cannot judge 'doubling'" in caplog.text


def test_a_program_whose_determinism_is_not_proven_is_recorded_but_not_raised(words, caplog) -> None:
    with program("race", workgroup_size=4) as p:
        a = p.read("a", u32)
        out = p.write("out", u32, like=a)
        out[0] = a[p.global_id(0)]
    backend = shadowed(flipped)
    backend.dispatch(p.build(), [words])
    (event,) = backend.shadow.events
    assert not event.is_proven
    assert "(its determinism is not proven)" in caplog.text


# ── pipelines, persistent memory, resident memory ──


def test_a_shadowed_pipeline_of_two_pipelines(doubling, words) -> None:
    primary, reference = (compile(FullBackend(f, id), doubling) for f, id in ((flipped, "a"), (double, "b")))
    pipeline = ShadowedPipeline(primary, reference, doubling, policy=ShadowPolicy(on_divergence=RECORD))
    pipeline.dispatch([words])
    assert pipeline.id() == "a:passthrough"
    assert [event.reference for event in pipeline.shadow.events] == ["b"]


@pytest.mark.parametrize(
    "call",
    [
        lambda pipeline, words: pipeline.dispatch([words]),
        lambda pipeline, words: pipeline.dispatch_arrays({"a": np.frombuffer(words, np.uint32)}),
        lambda pipeline, words: pipeline.dispatch_timed([words]),
        lambda pipeline, words: pipeline.dispatch_into([words], None, [bytearray(24)]),
        lambda pipeline, words: pipeline.dispatch_batched([[words]]),
        lambda pipeline, words: pipeline.dispatch_batched_into([[words]], None, [[bytearray(24)]]),
        lambda pipeline, words: pipeline.dispatch_async([words]).await_result(),
    ],
    ids=["dispatch", "arrays", "timed", "into", "batched", "batched into", "async"],
)
def test_every_form_of_dispatch_of_a_pipeline_is_compared(call, doubling, words) -> None:
    primary, reference = (compile(FullBackend(f, id), doubling) for f, id in ((flipped, "a"), (double, "b")))
    pipeline = ShadowedPipeline(primary, reference, doubling)
    with pytest.raises(ShadowDiverged):
        call(pipeline, words)
    assert (pipeline.shadow.counts.diverged, pipeline.shadow.counts.unwatched) == (1, 0)


class Remembering(CompiledPipeline):
    """Counts its dispatches in persistent memory, as the program below does."""

    def __init__(self, id: str) -> None:
        self._id, self.kept = id, 0

    def id(self) -> str:
        return self._id

    def dispatch(self, inputs, config=None):
        self.kept += 1
        return [memoryview(self.kept.to_bytes(4, "little"))]


def test_persistent_memory_sees_every_dispatch() -> None:
    with program("count") as p:
        kept = p.persistent("kept", u32, 1)
        out = p.write("out", u32, 1)
        with p.if_(p.global_id(0) == 0):
            kept[0] = kept[0] + 1
            out[0] = kept[0]
    primary, reference = Remembering("a"), Remembering("b")
    pipeline = ShadowedPipeline(primary, reference, p.build(), policy=ShadowPolicy(every=3))
    for _ in range(7):
        pipeline.dispatch([])
    assert primary.kept == reference.kept == 7
    assert pipeline.shadow.counts.compared == 3


def test_resident_dispatches_are_counted_as_unwatched(doubling) -> None:
    backend = shadowed()
    a, out = backend.allocate_resident(24), backend.allocate_resident(24)
    backend.dispatch_resident_timed(doubling, [a, out])
    assert backend.shadow.counts.unwatched == 1


def test_a_budget_of_the_configuration_is_the_comparison_s(words) -> None:
    from vyre_foundation import f32

    with program("halve", workgroup_size=4) as p:
        a = p.read("a", f32)
        out = p.write("out", f32, like=a)
        out[p.global_id(0)] = a[p.global_id(0)] * 0.5

    def exact(plan, memory) -> None:
        memory["out"][:] = memory["a"]

    def near(plan, memory) -> None:
        exact(plan, memory)
        np.frombuffer(memory["out"], np.uint32)[:] += 2

    backend = shadowed(near, exact)
    data = np.ones(4, np.float32)
    backend.dispatch(p.build(), [data], DispatchConfig(ulp_budget=2))
    with pytest.raises(ShadowDiverged):
        backend.dispatch(p.build(), [data], DispatchConfig(ulp_budget=1))


def test_several_threads_share_the_count(doubling, words) -> None:
    backend = shadowed(flipped, every=2, on_divergence=RECORD)
    threads = [
        threading.Thread(target=lambda: [backend.dispatch(doubling, [words]) for _ in range(25)]) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (backend.shadow.counts.dispatches, backend.shadow.counts.compared) == (100, 50)


def test_the_shadow_s_counts_are_metrics_of_the_backend(doubling, words) -> None:
    backend = shadowed()
    backend.dispatch(doubling, [words])
    snapshot = backend.backend_metric_snapshot()
    assert (snapshot["dispatches"], snapshot["shadow_compared"], snapshot["shadow_diverged"]) == (1, 1, 0)
