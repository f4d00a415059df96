"""The connection to a Dask cluster: one that the caller has, one by its address, or a `LocalCluster`."""

from __future__ import annotations

import asyncio
import atexit
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import dask
from distributed import Client, LocalCluster, Security, default_client, rpc

from vyre_driver.errors import BackendUnavailable
from vyre_driver.pipeline.settings import setting

SCHEDULER = "VYRE_DASK_SCHEDULER"
"""The environment variable with the address of a scheduler, such as ``tcp://host:8786``."""

CONNECT_TIMEOUT = 30
"""Seconds to wait for the scheduler, and for the first worker."""


@dataclass(slots=True)
class Connection:
    """A client, and the cluster where it was started for it."""

    client: Client
    is_own: bool
    cluster: LocalCluster | None = None

    def __post_init__(self) -> None:
        if self.is_own:
            atexit.register(self.close)

    def workers(self) -> int:
        """How many workers there are now."""
        try:
            return len(self.client.nthreads())
        except (OSError, RuntimeError) as error:  # a RuntimeError, where the client gave up while it was asked
            address = self.client.scheduler.address if self.client.scheduler else "of the client"
            raise BackendUnavailable("dask", f"the scheduler {address} has ended: {error}", fix=_FIX) from error

    @property
    def is_closed(self) -> bool:
        """Whether the client has given up to connect again to its scheduler, or was closed."""
        return self.client.status in ("closed", "closing")

    def close(self) -> None:
        """Close what was opened here. The client of a caller stays open."""
        if self.is_own:
            atexit.unregister(self.close)
            self.client.close()
        if self.cluster is not None:
            self.cluster.close()


def connect(address: str | None = None) -> Connection:
    """Find a cluster.

    Args:
        address: That of a scheduler. None for the current client of the process; where there is none, the scheduler
            that `VYRE_DASK_SCHEDULER` or Dask's own configuration names; and else a `LocalCluster` with a worker of one
            thread for each CPU.

    Raises:
        BackendUnavailable: The scheduler does not answer, or has no worker, or a local cluster does not start.
    """
    if address is None:
        try:
            return Connection(default_client(), is_own=False)
        except ValueError:
            address = setting(SCHEDULER) or dask.config.get("scheduler-address", None)
    if address is None:
        return _local()
    try:
        _ask(address)
        client = Client(address, timeout=CONNECT_TIMEOUT, set_as_default=False)
    except (OSError, TypeError, ValueError) as error:  # a TypeError is an address of TLS without a certificate
        raise BackendUnavailable("dask", f"the scheduler {address} does not answer: {error}", fix=_FIX) from error
    connection = Connection(client, is_own=True)
    try:
        client.wait_for_workers(1, timeout=CONNECT_TIMEOUT)
    except TimeoutError as error:
        connection.close()
        fix = f"start workers: dask worker {address}"
        raise BackendUnavailable("dask", f"the scheduler {address} has no worker", fix=fix) from error
    return connection


_FIX = f"start one with `dask scheduler`, and check the address in {SCHEDULER}; with TLS, pass a Client to DaskBackend"


def _ask(address: str) -> None:
    """Raise what a scheduler that does not answer raises, before there is a `Client`.

    A `Client` that fails leaves the thread of its event loop behind. When the garbage collector closes it, it takes the
    lock of Dask's event loops, in any thread: also in one that another `Client` starts while it has that lock.
    """

    async def identity() -> None:
        arguments = Security().get_connection_args("client")
        async with rpc(address, timeout=CONNECT_TIMEOUT, connection_args=arguments) as scheduler:
            await scheduler.identity()

    with ThreadPoolExecutor(1) as thread:  # the caller may have an event loop that runs
        thread.submit(asyncio.run, identity()).result()


def _local() -> Connection:
    """A worker of one thread for each CPU: also backends that have threads of their own use one there."""
    environment = {**os.environ, "VYRE_CPU_THREADS": setting("VYRE_CPU_THREADS") or "1"}
    try:
        cluster = LocalCluster(threads_per_worker=1, dashboard_address=":0", env=environment)
    except RuntimeError as error:  # a worker did not start; most often it imports a script that starts workers again
        fix = 'put what the script runs under `if __name__ == "__main__":`, which workers import; or name a scheduler'
        raise BackendUnavailable("dask", f"a local cluster did not start: {error}", fix=fix) from error
    return Connection(Client(cluster, set_as_default=False), is_own=True, cluster=cluster)
