"""Many threads on shared and own backends and pipelines, which are closed, shut down and recovered meanwhile."""

import threading
from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any

import numpy as np
import pytest
from long_kernels import EXPECTED, GIVEN, Long, scaling

from vyre_driver import BackendError, DispatchConfig, DispatchTimeout, StaleHandle, acquire, compile

THREADS = 16


def together(*works: Callable[[], None], seconds: float = 120.0) -> None:
    """Run all at once, in threads. What one raises is raised here."""
    errors: list[BaseException] = []
    start = threading.Barrier(len(works))

    def run(work: Callable[[], None]) -> None:
        try:
            start.wait()
            work()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(work,), daemon=True) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(seconds)
        assert not thread.is_alive(), "a thread hangs"
    if errors:
        raise errors[0]


def dispatches(backend: Any, rng: Random, times: int) -> None:
    """All ways of a dispatch, in any order, each with the right result."""
    program, pipeline = scaling(), None
    for _ in range(times):
        size = rng.choice([1, 5, 1000, 1 << 15])
        given = np.arange(size, dtype=np.uint32) + np.uint32(rng.randrange(1000))
        expected = (given * 3 + 1).tobytes()
        way = rng.randrange(6)
        if way == 0:
            (out,) = backend.dispatch(program, [given])
        elif way == 1:
            out = backend.dispatch_arrays(program, {"x": given})["out"]
        elif way == 2:
            (out,) = backend.dispatch_async(program, [given]).await_result(60.0)
        elif way == 3:
            backend.dispatch_async(program, [given])  # nothing waits for it
            (out,) = backend.dispatch(program, [given], DispatchConfig(timeout=60.0))
        elif way == 4:
            pipeline = pipeline or compile(backend, program)
            (out,), _ = pipeline.dispatch_batched([[given], [given]])
        else:
            with backend.allocate_resident(given.nbytes) as x, backend.allocate_resident(given.nbytes) as y:
                backend.upload_resident(x, given)
                backend.dispatch_resident_timed(program, [x, y])
                out = backend.download_resident(y)
        assert bytes(out) == expected, way
        if pipeline is not None and rng.randrange(5) == 0:
            pipeline.close()
            pipeline = None


def test_one_backend_serves_all_threads(attacks) -> None:
    backend, times = acquire("cpu"), attacks.count(20)
    together(*[lambda n=n: dispatches(backend, Random(attacks.seed + n), times) for n in range(THREADS)])
    backend.flush()
    backend.shutdown()
    counts = backend.backend_metric_snapshot()
    assert counts["bytes_allocated"] == counts["bytes_freed"]
    assert counts["failures"] == 0


def test_each_thread_has_a_backend(attacks) -> None:
    def work(seed: int) -> None:
        for _ in range(attacks.count(2)):
            backend = acquire("cpu")
            dispatches(backend, Random(seed), 5)
            if seed % 2:
                backend.shutdown()

    together(*[lambda n=n: work(attacks.seed + n) for n in range(THREADS)])


@pytest.mark.parametrize("ending", ["shutdown", "try_recover", "close"])
def test_what_is_in_use_ends(attacks, ending: str) -> None:
    """Each dispatch of another thread gives the right result, or is told."""
    for number in range(attacks.count(6)):
        use_until_it_ends(ending, Random(attacks.seed + number))


def use_until_it_ends(ending: str, rng: Random) -> None:
    backend, program = acquire("cpu"), scaling()
    pipeline = compile(backend, program)

    def work(use: Callable[[], Any]) -> None:
        for _ in range(200):
            try:
                outputs = use()
            except StaleHandle:
                if ending != "try_recover":
                    return
            else:
                assert bytes(outputs[0]) == EXPECTED

    def end() -> None:
        threading.Event().wait(rng.random() / 100)
        getattr(pipeline if ending == "close" else backend, ending)()

    uses = [
        lambda: pipeline.dispatch([GIVEN]),
        lambda: pipeline.dispatch_async([GIVEN]).await_result(),
        lambda: pipeline.dispatch_batched([[GIVEN], [GIVEN]])[1],
    ]
    if ending != "close":
        uses.append(lambda: backend.dispatch(program, [GIVEN]))
    together(*[partial(work, use) for use in 2 * uses], end)
    backend.shutdown()


def test_a_kernel_without_an_end_holds_up_no_thread(attacks) -> None:
    """Deadlines are met in every thread, the device can be closed while all wait, and another one be opened."""
    long = Long("cpu", 30.0)
    backend = acquire("cpu")
    refused: list[BackendError] = []

    def waits(config: DispatchConfig) -> None:
        try:
            backend.dispatch(long.program, long.given(), config)
        except (DispatchTimeout, StaleHandle) as error:
            refused.append(error)

    def closes() -> None:
        threading.Event().wait(1.0)
        backend.shutdown()

    config = DispatchConfig(timeout=0.3)
    together(*[lambda: waits(config)] * 6, *[lambda: waits(DispatchConfig())] * 6, closes, seconds=10.0)
    assert len(refused) == 12
    assert sum(isinstance(error, DispatchTimeout) for error in refused) >= 6
    (out,) = acquire("cpu").dispatch(scaling(), [GIVEN])
    assert bytes(out) == EXPECTED
