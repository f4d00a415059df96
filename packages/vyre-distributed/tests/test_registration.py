"""Announcing the backend imports no Dask; nobody chooses it but a caller who names it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from distributed import Client, __version__ as dask_version

from vyre_distributed import DaskBackend, registration
from vyre_distributed.cluster import connect
from vyre_driver.backend.registration import Selection
from vyre_driver.errors import BackendUnavailable, InvalidSetting
from vyre_driver.registry import listing


def test_listing_backends_imports_no_dask() -> None:
    code = (
        "import sys\n"
        "from vyre_driver.registry.backends import availability, registered_backends\n"
        "assert 'dask' in {r.id for r in registered_backends()}\n"
        "assert availability('dask').is_available\n"
        "assert not {'dask', 'distributed'} & {*sys.modules}\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_it_is_chosen_by_name_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(listing, "_ask", lambda id: asked.append(id) or [])
    listing.devices()
    assert "reference" in asked
    assert "dask" not in asked
    assert registration.selection is Selection.BY_NAME


def test_the_current_client_is_used(client: Client) -> None:
    with client.as_current():
        connection = connect()
    assert connection.client is client
    connection.close()
    assert client.status == "running"


def test_the_scheduler_of_the_environment_is_used(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VYRE_DASK_SCHEDULER", client.scheduler.address)
    connection = connect()
    assert connection.client is not client
    assert connection.workers() == 2
    connection.close()
    assert client.status == "running"


def test_a_scheduler_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vyre_distributed.cluster.CONNECT_TIMEOUT", 0.2)
    with pytest.raises(BackendUnavailable, match=r"tcp://127\.0\.0\.1:9 does not answer.*Fix: start one with"):
        DaskBackend("tcp://127.0.0.1:9").device_profile()


def test_a_worker_is_no_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    from vyre_distributed.worker import local_backend

    monkeypatch.setenv("VYRE_DASK_BACKEND", "dask")
    with pytest.raises(InvalidSetting, match=r"expected a local backend\. Fix: name a backend of the worker's machine"):
        local_backend()


@pytest.mark.skipif(tuple(map(int, dask_version.split(".")[:2])) < (2026, 8), reason="Dask restarts workers for ever")
def test_a_script_that_workers_would_run_again_is_told_so(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("from vyre_distributed import DaskBackend\nDaskBackend().prepare()\n")
    environment = {name: value for name, value in os.environ.items() if name != "VYRE_DASK_SCHEDULER"}
    done = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, env=environment, timeout=120, check=False
    )
    assert done.returncode == 1
    assert "a local cluster did not start" in done.stderr
    assert 'Fix: put what the script runs under `if __name__ == "__main__":`' in done.stderr


def test_a_client_that_is_not_closed_loses_nothing(tmp_path: Path) -> None:
    """Dask logs an error where data that no task makes is lost with a worker; programs are kept after their launch."""
    script = tmp_path / "script.py"
    script.write_text(
        "import numpy as np\n"
        "from distributed import Client\n"
        "from vyre_distributed import DaskBackend\n"
        "from vyre_foundation import program, u32\n"
        "if __name__ == '__main__':\n"
        "    with program('one', 64) as p:\n"
        "        x = p.read('x', u32)\n"
        "        p.write('out', u32, like=x)[p.global_id(0)] = x[p.global_id(0)] + 1\n"
        "    client = Client(n_workers=2, threads_per_worker=1, dashboard_address=':0')\n"
        "    backend = DaskBackend(client)\n"
        "    print(backend.dispatch_arrays(p.build(), {'x': np.arange(99, dtype=np.uint32)})['out'].sum())\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout) == (0, "4950\n")
    assert "lose scattered data" not in done.stderr
