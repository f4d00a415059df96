"""What the tests of faults dispatch, and the cases of a slow network and of a full disk.

`python fault_cases.py FOLDER` runs the case of a disk that is full, and prints what came of it.
"""

import asyncio
import contextlib
import json
import logging
import random
import socket
import sys
import threading
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np
from distributed import Client, LocalCluster, Scheduler, SpecCluster, Worker

import vyre_distributed as vd
from vyre_distributed import DaskBackend, worker
from vyre_distributed.worker import local_backend
from vyre_driver.errors import BackendError
from vyre_foundation.build import program
from vyre_foundation.dtype import f32, u32
from vyre_foundation.functions import fma, sqrt
from vyre_foundation.ir.program import Program

X = np.arange(400_000, dtype=np.uint32)
EXPECTED = np.bincount(X % 7, minlength=7)


def histogram() -> Program:
    """Large enough an input that it is scattered, and sums, which a task that counts twice would change."""
    with program("histogram", 64) as p:
        x, counts = p.read("x", u32), p.read_write("counts", u32, 7)
        doubled = p.write("doubled", u32, like=x)
        i = p.let(p.global_id(0))
        with p.if_(i < x.length):
            counts.atomic_add(x[i] % 7, 1)
            doubled[i] = x[i] * 2
    return p.build()


def floats() -> Program:
    """Operations that CPUs with and without fused multiply-add and vectors compute by other instructions."""
    with program("floats", 64) as p:
        x = p.read("x", f32)
        i = p.let(p.global_id(0))
        p.write("out", f32, like=x)[i] = sqrt(fma(x[i], x[i], x[i + 1] * 0.3) + 7.0) / 3.0
    return p.build()


def dispatch(backend: DaskBackend) -> bool:
    """Whether a dispatch has the right bytes."""
    found = backend.dispatch_arrays(histogram(), {"x": X, "counts": np.zeros(7, np.uint32)})
    return np.array_equal(found["counts"], EXPECTED) and np.array_equal(found["doubled"], X * 2)


def is_traced() -> bool:
    """Whether this worker records a trace. It is here because workers import what they run, and find this module."""
    return any(local_backend() is backend for _, backend in worker._TRACED.values())


def outcome(backend: DaskBackend) -> str:
    """``right``, or the name of the typed error of a dispatch; wrong bytes fail."""
    try:
        assert dispatch(backend), "wrong bytes"
    except BackendError as error:
        return type(error).__name__
    return "right"


def options(**more: Any) -> dict[str, Any]:
    """Those of a cluster of two workers."""
    base = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": False}
    return {**base, "env": {"VYRE_CPU_THREADS": "1"}, **more}


class SlowNetwork:
    """A proxy for each address: what goes through it is late by 5 to 20 ms, in both directions."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._chance = random.Random(1)
        threading.Thread(target=self._loop.run_forever, daemon=True).start()

    def to(self, port: int) -> int:
        """The port of a proxy for a port."""
        ready = asyncio.run_coroutine_threadsafe(self._serve(port), self._loop)
        return ready.result()

    async def _serve(self, port: int) -> int:
        async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", port)
            await asyncio.gather(self._pump(reader, far_writer), self._pump(far_reader, writer))

        server = await asyncio.start_server(connected, "127.0.0.1", 0)
        return int(server.sockets[0].getsockname()[1])

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(1 << 16):
                await asyncio.sleep(self._chance.uniform(0.005, 0.02))
                writer.write(data)
                await writer.drain()
        writer.close()


def delayed() -> list[str]:
    """Dispatches and a sum where client, scheduler and workers reach each other through a slow network."""
    network, ports = SlowNetwork(), [free_port() for _ in range(3)]
    scheduler, *workers = (f"tcp://127.0.0.1:{network.to(port)}" for port in ports)
    given = {
        n: {"cls": Worker, "options": {"nthreads": 1, "host": "127.0.0.1", "port": port, "contact_address": contact}}
        for n, (port, contact) in enumerate(zip(ports[1:], workers, strict=True))
    }
    server = {"cls": Scheduler, "options": {"port": ports[0], "host": "127.0.0.1", "contact_address": scheduler,
                                            "dashboard_address": ":0"}}  # fmt: skip
    with SpecCluster(workers=given, scheduler=server, silence_logs=False), Client(scheduler) as client:
        client.wait_for_workers(2, timeout=60)
        outcomes = [outcome(DaskBackend(client)) for _ in range(3)]
        x = da.arange(1_000_000, chunks=100_000, dtype=np.int64)
        return [*outcomes, "right" if vd.sum(x).compute() == 499_999_500_000 else "wrong"]


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def full(folder: str) -> tuple[list[str], int]:
    """Dispatches and a sort whose chunks are to be spilled to a disk that is full; and how often that failed."""
    limits = {"distributed.worker.memory.target": 0.005, "distributed.worker.memory.spill": 0.01}
    log = Path(folder).with_suffix(".log")
    logged = {**options()["env"], "DASK_LOGGING__DISTRIBUTED": "error"}
    with (
        dask.config.set(limits),
        LocalCluster(**options(memory_limit="1GiB", local_directory=folder, env=logged)) as cluster,
        Client(cluster) as client,
    ):
        client.run(log_to, str(log))
        outcomes = [outcome(DaskBackend(client)) for _ in range(3)]
        x = np.random.default_rng(1).integers(0, 2**62, 4_000_000)
        found = vd.sort(da.from_array(x, chunks=1_000_000)).compute()
        outcomes.append("right" if np.array_equal(found, np.sort(x)) else "wrong")
    return outcomes, log.read_text().count("Spill to disk failed")


def log_to(path: str) -> None:
    logging.getLogger("distributed").addHandler(logging.FileHandler(path))


if __name__ == "__main__":
    json.dump(full(sys.argv[1]), sys.stdout)
