"""TLS is Dask's: a client with the credentials of the cluster gets in, and no other."""

import asyncio
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from distributed import Client, LocalCluster
from distributed.security import Security

from vyre_distributed import DaskBackend
from vyre_driver.errors import BackendUnavailable
from vyre_foundation.build import program
from vyre_foundation.dtype import u32


def credentials(folder: Path, name: str) -> Security:
    """A key and a certificate that is signed by itself."""
    key, certificate = folder / f"{name}.key", folder / f"{name}.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={name}"]
    done = subprocess.run([*command, "-keyout", key, "-out", certificate], capture_output=True)
    if done.returncode:
        pytest.skip("openssl makes no certificate here")
    roles = {f"tls_{role}_{part}": str(file) for role in ("client", "scheduler", "worker")
             for part, file in (("key", key), ("cert", certificate))}  # fmt: skip
    return Security(require_encryption=True, tls_ca_file=str(certificate), **roles)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    security = credentials(tmp_path_factory.mktemp("own"), "own")
    with LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, protocol="tls", host="127.0.0.1",
        security=security, dashboard_address=":0", silence_logs=False,
    ) as cluster:  # fmt: skip
        yield cluster


def test_a_client_with_the_credentials_gets_in(cluster: LocalCluster) -> None:
    with program("doubled", 64) as p:
        x = p.read("x", u32)
        p.write("out", u32, like=x)[p.global_id(0)] = x[p.global_id(0)] * 2
    data = np.arange(50_000, dtype=np.uint32)
    with Client(cluster, set_as_default=False) as client:
        assert client.scheduler.address.startswith("tls://")
        found = DaskBackend(client).dispatch_arrays(p.build(), {"x": data})["out"]
    assert np.array_equal(found, data * 2)


def event_loops() -> set[threading.Thread]:
    """The threads in which Dask runs event loops."""
    return {thread for thread in threading.enumerate() if thread.name == "IO loop"}


def test_a_client_without_them_does_not(cluster: LocalCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vyre_distributed.cluster.CONNECT_TIMEOUT", 1)
    address = cluster.scheduler_address
    loops = event_loops()
    for wrong in (address, address.replace("tls://", "tcp://")):
        with pytest.raises(BackendUnavailable, match=r"does not answer: .*with TLS, pass a Client to DaskBackend"):
            DaskBackend(wrong).device_profile()
    assert event_loops() <= loops
    other = credentials(tmp_path, "other")

    async def connect() -> None:
        await Client(address, security=other, timeout=1, set_as_default=False, asynchronous=True)

    with pytest.raises(OSError, match=r"[Tt]imed out|certificate|verify"):
        asyncio.run(connect())
