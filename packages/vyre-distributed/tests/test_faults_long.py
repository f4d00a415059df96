"""Faults of whole clusters, in minutes: the same bytes, or a typed error.

`VYRE_TEST_KILLS` is the number of workers that are killed, and `VYRE_TEST_JOURNAL` a file that gets a line for each
fault. `python -m pytest -m slow` runs them.
"""

import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from distributed import Client, LocalCluster, Nanny, Scheduler, SpecCluster
from fault_cases import delayed, dispatch, floats, free_port, histogram, options, outcome

from vyre_distributed import DaskBackend
from vyre_driver import backend_for
from vyre_driver.backend.config import DispatchConfig
from vyre_driver.errors import ContractMismatch, DispatchTimeout
from vyre_foundation.build import program
from vyre_foundation.dtype import u32

pytestmark = pytest.mark.slow
HERE = Path(__file__).parent


@pytest.fixture
def journal(request: pytest.FixtureRequest) -> Callable[..., None]:
    """Write a line about a fault."""
    path = os.environ.get("VYRE_TEST_JOURNAL")

    def write(**facts: object) -> None:
        if path:
            with Path(path).open("a", encoding="utf-8") as file:
                file.write(json.dumps({"fault": request.node.name.removeprefix("test_"), **facts}) + "\n")

    return write


@pytest.fixture
def mortal() -> Iterator[Client]:
    """A cluster whose workers may end: nannies start them again."""
    cluster = LocalCluster(**options())
    with Client(cluster) as client:
        yield client
    with contextlib.suppress(KeyError):  # of a worker that ends a second time while Dask closes the cluster
        cluster.close()


def test_workers_killed_at_random_moments(mortal: Client, journal: Callable[..., None]) -> None:
    kills = int(os.environ.get("VYRE_TEST_KILLS", "20"))
    backend, chance = DaskBackend(mortal), random.Random(23)
    backend.prepare()
    outcomes: Counter[str] = Counter()
    for number in range(kills):
        try:
            mortal.wait_for_workers(2, timeout=20)
        except TimeoutError:  # its nanny has given up on a worker that ended while it started
            mortal.cluster.scale(0)
            mortal.cluster.scale(2)
            mortal.wait_for_workers(2, timeout=120)
        pids = list(mortal.run(os.getpid).values())
        delay, victim = chance.random() * 0.15, chance.choice(pids)
        timer = threading.Timer(delay, os.kill, (victim, signal.SIGKILL))
        timer.start()
        found = []
        while timer.is_alive():
            found.append(outcome(backend))
        timer.join()
        found.append(outcome(backend))
        outcomes.update(found)
        journal(kill=number, after_ms=round(delay * 1000, 1), outcomes=found)
    journal(kills=kills, outcomes=dict(outcomes), backend=backend.backend_metric_snapshot())
    assert outcomes["right"] >= kills
    assert dispatch(backend)


def test_a_scheduler_that_is_killed_and_started_again(journal: Callable[..., None], tmp_path: Path) -> None:
    address = f"tcp://127.0.0.1:{free_port()}"
    running: list[subprocess.Popen[bytes]] = []

    def start(module: str, *arguments: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", f"distributed.cli.dask_{module}", *arguments]
        environment = {**os.environ, "VYRE_CPU_THREADS": "1"}
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        running.append(subprocess.Popen(command, cwd=tmp_path, env=environment, **quiet))
        return running[-1]

    def start_cluster() -> subprocess.Popen[bytes]:
        scheduler = start("scheduler", "--host", address, "--no-dashboard", "--dashboard-address", ":0")
        for _ in range(2):
            start("worker", address, "--nthreads", "1", "--no-dashboard", "--dashboard-address", ":0")
        return scheduler

    try:
        scheduler = start_cluster()
        backend = DaskBackend(address)
        backend.prepare()
        backend.client.wait_for_workers(2, timeout=60)
        found = [outcome(backend)]
        timer = threading.Timer(0.05, scheduler.kill)
        timer.start()
        while scheduler.poll() is None:
            found.append(outcome(backend))
        found.append(outcome(backend))
        start_cluster()
        again = DaskBackend(address)
        again.prepare()
        after = [outcome(again), outcome(backend)]
        journal(during=found, after=after)
        assert found[0] == "right"
        assert found[-1] != "right"
        assert after[0] == "right"
        again.shutdown()
        backend.shutdown()
    finally:
        for process in running:
            process.kill()
            process.wait()


def test_a_network_that_delays(journal: Callable[..., None]) -> None:
    found = delayed()
    journal(outcomes=found)
    assert found == ["right"] * 4


def test_a_disk_that_is_full(journal: Callable[..., None], tmp_path: Path) -> None:
    if not shutil.which("unshare") or subprocess.run(["unshare", "--mount", "true"], capture_output=True).returncode:
        pytest.skip("a file system of its own is not permitted here")
    case = f"exec {sys.executable} {HERE / 'fault_cases.py'} {tmp_path}"
    command = ["unshare", "--mount", "sh", "-c", f"mount -t tmpfs -o size=4m tmpfs {tmp_path} && {case}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stderr[-3000:]
    found, spilled = json.loads(done.stdout.splitlines()[-1])
    journal(outcomes=found, spills_that_failed=spilled)
    assert found == ["right"] * 4


def test_a_worker_that_stops_for_a_while(mortal: Client, journal: Callable[..., None]) -> None:
    backend = DaskBackend(mortal)
    assert dispatch(backend)
    pids = list(mortal.run(os.getpid).values())
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
        threading.Timer(2, os.kill, (pid, signal.SIGCONT)).start()
    arrays = {"x": np.arange(400_000, dtype=np.uint32), "counts": np.zeros(7, np.uint32)}
    with pytest.raises(DispatchTimeout):
        backend.dispatch_arrays(histogram(), arrays, DispatchConfig(timeout=0.5))
    time.sleep(2)
    os.kill(pids[0], signal.SIGSTOP)
    threading.Timer(2, os.kill, (pids[0], signal.SIGCONT)).start()
    found = outcome(backend)
    journal(with_deadline="DispatchTimeout", without=found)
    assert found == "right"


def preloaded(*texts: str) -> SpecCluster:
    """A cluster with a worker for each text of Python, which that runs before anything else."""
    common = {"nthreads": 1, "dashboard_address": ":0", "env": {"VYRE_CPU_THREADS": "1"}, "silence_logs": False}
    workers = {n: {"cls": Nanny, "options": {**common, "preload": [text]}} for n, text in enumerate(texts)}
    return SpecCluster(
        workers=workers, scheduler={"cls": Scheduler, "options": {"dashboard_address": ":0"}}, silence_logs=False
    )


def test_workers_with_other_cpus(journal: Callable[..., None]) -> None:
    limited = "import vyre_driver_cpu.cpu as cpu\ncpu.host()\ncpu.host = lambda: cpu.NAMED['x86-64']\n"
    reference = "import os\nos.environ['VYRE_DASK_BACKEND'] = 'reference'\n"
    x = np.random.default_rng(1).standard_normal(20_000, dtype=np.float32)
    expected = backend_for("cpu").dispatch_arrays(floats(), {"x": x})["out"]
    with preloaded("import os\n", limited, reference) as cluster, Client(cluster) as client:
        backend = DaskBackend(client)
        found = backend.dispatch_arrays(floats(), {"x": x})["out"]
        snapshot = backend.backend_metric_snapshot()
        models = sorted(set(client.run(model).values()))
    journal(cpus=models, outcomes=["right" if found.tobytes() == expected.tobytes() else "wrong"], **snapshot)
    assert found.tobytes() == expected.tobytes()
    assert snapshot["shards"] == 3
    assert len(models) == 3


def model() -> str:
    from vyre_distributed.worker import local_backend
    from vyre_driver_cpu.cpu import host

    return f"{local_backend().id()} {host().model}"


def test_a_worker_of_another_version(journal: Callable[..., None]) -> None:
    other = "import vyre_distributed.worker as worker\nworker.__version__ = '0.0.1'\n"
    refused = pytest.raises(ContractMismatch, match=r"this worker has 0\.0\.1\. Fix: install one version")
    with preloaded("import os\n", other) as cluster, Client(cluster) as client, refused:
        dispatch(DaskBackend(client))
    journal(outcomes=["ContractMismatch"])


def test_what_is_cancelled_ends_on_the_workers(mortal: Client, journal: Callable[..., None]) -> None:
    with program("long", 64) as p:
        x = p.read("x", u32)
        out = p.write("out", u32, like=x)
        i = p.let(p.global_id(0))
        total = p.var(x[i])
        with p.range(0, 2**31) as n:
            total.set(total * 3 + n)
        out[i] = total
    backend = DaskBackend(mortal)
    backend.prepare()
    with pytest.raises(DispatchTimeout):
        backend.dispatch_arrays(p.build(), {"x": np.arange(100_000, dtype=np.uint32)}, DispatchConfig(timeout=1))
    until = time.monotonic() + 60
    while any(mortal.processing().values()) and time.monotonic() < until:
        time.sleep(0.05)
    spent = [cpu_seconds(mortal) for _ in range(2) if not time.sleep(1)]
    journal(processor_seconds_a_second_later=round(spent[1] - spent[0], 2))
    assert not any(mortal.processing().values())
    assert spent[1] - spent[0] < 0.9, "the kernel still runs"


def cpu_seconds(client: Client) -> float:
    return sum(client.run(time.process_time).values())
