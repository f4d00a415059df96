"""Worker processes find the backends of these tests."""

import os
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType

import pytest

from vyre_conform.worker import ForkServers, Worker
from vyre_driver.registry import backends as registry


def asking() -> list[ModuleType]:
    """The modules that start workers."""
    return [import_module(f"vyre_conform.{name}") for name in ("bench", "certificate.verify", "cli.running")]


@pytest.fixture(scope="module")
def forked() -> Iterator[None]:
    """Workers begin as forks of one process, because starting one takes longer than what these tests ask of it.

    They have the environment in which the first of them began. `worker/test_worker.py` starts workers in both ways.
    """
    with ForkServers() as servers, pytest.MonkeyPatch.context() as patch:
        for module in asking():
            patch.setattr(module, "Worker", partial(Worker, fork_servers=servers))
        yield


@pytest.fixture(scope="module")
def backends() -> Iterator[None]:
    here = str(Path(__file__).parent / "worker")
    known = os.environ.get("PYTHONPATH")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join([here, known]) if known else here)
        patch.syspath_prepend(here)
        yield


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Path]]:
    """Install a distribution with one entry point of a backend, for this process and for those that it starts.

    Of the real ones the reference stays. Workers are started: forks would have the environment of another test.
    """
    for module in asking():
        monkeypatch.setattr(module, "Worker", Worker)
    folder = tmp_path / "installed"
    folder.mkdir()
    others = {entry.name for entry in entry_points(group="vyre.backends")} - {"reference"}
    monkeypatch.setenv("VYRE_DISABLE_PLUGINS", ",".join(others))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")])))
    monkeypatch.syspath_prepend(str(folder))

    def install(id: str, source: str) -> Path:
        module = f"acme_{id}"
        info = folder / f"{module}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: acme-{id}\nVersion: 1.0\n", "utf-8")
        (info / "entry_points.txt").write_text(f"[vyre.backends]\n{id} = {module}:registration\n", "utf-8")
        file = folder / f"{module}.py"
        file.write_text(source, "utf-8")
        registry.refresh()
        return file

    yield install
    registry.refresh()
