"""SIGINT at any moment: it gets through soon, nothing hangs, and what comes after it is right."""

import sys
from pathlib import Path

import pytest

SOON = 0.25
"""Seconds until an interrupt gets through: 0.1, and what a busy machine adds."""

PRELUDE = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
import os, random, signal, threading, time
import numpy as np
from long_kernels import *
from vyre_driver import ResidentDispatchStep, compile
import vyre as vy

backend, rng = acquire(sys.argv[1]), random.Random(int(sys.argv[2]))
late = []

def interrupt(number, frame):
    if armed[0]:
        raise KeyboardInterrupt

armed = [False]
signal.signal(signal.SIGINT, interrupt)

def attack(call, within):
    '''Call something, and send SIGINT to this process after a moment. Notes how long it takes to get through.'''
    sent = []

    def send():
        time.sleep(rng.random() * within)
        if armed[0]:
            sent.append(time.monotonic())
            os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=send)
    thread.start()
    try:
        armed[0] = True
        call()
        armed[0] = False
    except KeyboardInterrupt:
        armed[0] = False
        late.append(time.monotonic() - sent[0])
    thread.join()

def check():
    (out,) = backend.dispatch(scaling(), [GIVEN], DispatchConfig(timeout=60.0))
    assert bytes(out) == EXPECTED
"""

DISPATCHES = """
program, long = scaling(), Long(sys.argv[1], 0.05)
pipeline = compile(backend, program)
x, y = backend.allocate_resident(4000), backend.allocate_resident(4000)
backend.upload_resident(x, GIVEN)
steps = [ResidentDispatchStep(program=program, resources=(x, y))]
sequence = backend.dispatch_resident_repeated_sequence_read_ranges_into
many = np.arange(1 << 20, dtype=np.uint32)

def small():
    for _ in range(100):
        assert bytes(backend.dispatch(program, [GIVEN])[0]) == EXPECTED

ways = [
    small,
    lambda: backend.dispatch(long.program, long.given()),
    lambda: backend.dispatch(program, [many]),
    lambda: backend.dispatch_async(long.program, long.given()).await_result(),
    lambda: pipeline.dispatch_batched([[GIVEN]] * 200),
    lambda: pipeline.dispatch_batched([[many[:1 << 16]]] * 20),
    lambda: sequence([], steps, 500, [], []),
    lambda: pipeline.dispatch_resident([x, y]),
    backend.flush,
]
for n in range(int(sys.argv[3])):
    attack(rng.choice(ways), 0.03)
    if n % 5 == 0:
        check()
check()
assert bytes(pipeline.dispatch([GIVEN])[0]) == EXPECTED
backend.dispatch_resident_timed(program, [x, y])
assert bytes(backend.download_resident(y)) == EXPECTED
backend.flush()
backend.shutdown()
counts = backend.backend_metric_snapshot()
assert counts["bytes_allocated"] - counts["bytes_freed"] == 0, counts
late.sort()
print(len(late), late[-1])
"""

COMPILES = """
for n in range(int(sys.argv[3])):
    with vy.program(f"new_{n}_{os.getpid()}", workgroup_size=64) as p:
        x = p.read("x", vy.f32)
        out = p.write("out", vy.f32, like=x)
        i = p.global_id(0)
        out[i] = vy.exp(x[i]) * (n + 2) + vy.sin(x[i])
    source = p.build()
    given = [np.ones(100, np.float32)]
    attack(lambda: backend.dispatch(source, given), 0.05)
    (out,) = backend.dispatch(source, given)
    assert abs(np.frombuffer(out, np.float32)[0] - (np.exp(1.0) * (n + 2) + np.sin(1.0))) < 1e-4
check()
backend.shutdown()
late.sort()
print(len(late), late[-1])
"""

ENDS = """
long = Long(sys.argv[1], float(sys.argv[3]))
backend.dispatch_async(long.program, long.given())
signal.signal(signal.SIGINT, signal.default_int_handler)

def send():
    time.sleep(rng.random() * 0.3)
    os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=send, daemon=True).start()
try:
    backend.shutdown()
    backend = acquire(sys.argv[1])
    backend.dispatch(long.program, long.given())
except KeyboardInterrupt:
    pass
"""

CACHELESS = {"VYRE_CACHE": "off"}


def attacked(bounded, code: str, backend: str, seed: int, *arguments: object, seconds: float) -> tuple[int, float]:
    """How often an interrupt got through, and the longest time that it took."""
    done = bounded(PRELUDE + code, backend, str(seed), *map(str, arguments), seconds=seconds)
    assert done.returncode == 0, done.stderr[-3000:]
    times, longest = done.stdout.split()
    return int(times), float(longest)


@pytest.mark.parametrize("backend", ["cpu", "opencl", "opencl-intel"])
def test_while_dispatches_run(bounded, attacks, backend: str) -> None:
    count = attacks.count(60)
    times, longest = attacked(bounded, DISPATCHES, backend, attacks.seed, count, seconds=30 + count)
    assert times > count / 4, "most attacks came too late"
    assert longest < SOON


def test_while_the_compiler_runs(bounded, attacks, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("VYRE_CACHE", "off")
    monkeypatch.setenv("POCL_CACHE_DIR", str(tmp_path))
    count = attacks.count(12)
    times, longest = attacked(bounded, COMPILES, "cpu", attacks.seed, count, seconds=30 + 10 * count)
    assert times > 0
    assert longest < SOON


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize("seconds", [0.1, 1000.0])
def test_while_the_process_ends(bounded, attacks, seconds: float) -> None:
    for n in range(attacks.count(2)):
        done = bounded(PRELUDE + ENDS, "cpu", str(attacks.seed + n), str(seconds), seconds=30)
        assert done.returncode in (0, -2, 130), done.stderr[-3000:]  # or it was interrupted behind the `try`
        assert "Aborted" not in done.stderr
