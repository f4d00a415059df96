"""From process to process: with what an earlier one has kept, a device proves nothing and compiles nothing."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vyre_driver.errors import KernelCompileFailed
from vyre_driver.pipeline.entry import PayloadKind
from vyre_driver.pipeline.settings import CacheMode, CacheSettings
from vyre_driver.pipeline.store import DiskStore
from vyre_driver_opencl.backend import OpenClBackend
from vyre_driver_opencl.facts import from_bytes, to_bytes
from vyre_driver_opencl.opened import open_device
from vyre_driver_opencl.port import OpenClPort
from vyre_foundation.build import program
from vyre_foundation.dtype import u32
from vyre_foundation.ir.program import Program

SCRIPT = """
import json, sys
import numpy as np
import vyre_driver_opencl.compiler as compiler, vyre_driver_opencl.proof.bench as bench, vyre_driver_opencl.port as port
built = []
def counted(*arguments):
    built.append(arguments)
    return build(*arguments)
build, bench.build, port.build = compiler.build, counted, counted
from vyre_driver_opencl.backend import OpenClBackend
from vyre_foundation.build import program
from vyre_foundation.dtype import u32
with program("rounds", workgroup_size=64) as p:
    x = p.read("x", u32)
    out = p.write("out", u32, like=x)
    room = p.scratch("room", u32, like=x)
    i = p.global_id(0)
    room[i] = x[i] * 3
    with p.range(0, x.length // 500) as k:
        p.grid_barrier()
        room[i] = room[i] + k
    p.grid_barrier()
    out[i] = room[i] ^ 7
x = np.arange(1500, dtype=np.uint32)
backend = OpenClBackend(sys.argv[1])
got = np.frombuffer(backend.dispatch(p.build(), [x])[0], np.uint32)
assert (got == (x * 3 + 3) ^ 7).all()
backend.shutdown()
print(json.dumps({"built": len(built), **backend.backend_metric_snapshot()}))
"""


SHORT = """
import json, sqlite3, sys
import numpy as np
statements = []
def traced(*arguments, **keywords):
    connection = connect(*arguments, **keywords)
    if "vyre-1.sqlite3" in str(arguments[0]):
        connection.set_trace_callback(statements.append)
    return connection
connect, sqlite3.connect = sqlite3.connect, traced
from vyre_driver import acquire
from vyre_foundation import program, u32
with program("xor", workgroup_size=64) as p:
    x = p.read("x", u32)
    out = p.write("out", u32, like=x)
    out[p.global_id(0)] = x[p.global_id(0)] ^ 5
x = np.arange(1024, dtype=np.uint32)
assert (acquire(sys.argv[1]).dispatch_arrays(p.build(), {"x": x})["out"] == x ^ 5).all()
from vyre_driver.pipeline.store import shared_store
shared_store().close()
print(json.dumps({"statements": statements}))
"""


def run(backend_id: str, folder: Path, script: str = SCRIPT, **environment: str) -> dict[str, Any]:
    """The counters of a process that dispatches once."""
    variables = {**os.environ, "VYRE_CACHE": "rw", "VYRE_CACHE_DIR": str(folder), **environment}
    command = [sys.executable, "-c", script, backend_id]
    done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    said: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return said


def opened(folder: Path) -> DiskStore:
    return DiskStore(CacheSettings(CacheMode.READ_WRITE, folder))


@pytest.fixture(scope="module")
def first(backend_id: str, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """What a process leaves in an empty folder, and its counters."""
    folder = tmp_path_factory.mktemp("first")
    return folder, run(backend_id, folder)


@pytest.fixture
def kept(first: tuple[Path, dict[str, Any]], tmp_path: Path) -> Path:
    """A copy of what the first process has left."""
    return shutil.copytree(first[0], tmp_path / "kept")


def test_a_later_process_compiles_nothing(backend_id: str, first: tuple[Path, dict[str, Any]], kept: Path) -> None:
    """Not even proofs: counted at the compiler itself."""
    counters = first[1]
    assert (counters["compiles"], counters["loads"], counters["saves"]) == (1, 0, 1)
    assert counters["built"] > 1
    second = run(backend_id, kept)
    assert (second["compiles"], second["loads"], second["saves"], second["built"]) == (0, 1, 0, 0)


def test_a_short_process_does_little(backend_id: str, kept: Path) -> None:
    """Counted: what it asks the store, and that it leaves the store's file as it is."""
    first = run(backend_id, kept, SHORT)
    assert any(said.startswith("INSERT") for said in first["statements"])
    second = run(backend_id, kept, SHORT)
    words = [said.split()[0] for said in second["statements"]]
    # One of each: schema, facts of the device, cost of a unit of work, tuned launch, code.
    assert (set(words), words.count("SELECT")) == ({"PRAGMA", "SELECT"}, 5)


def test_other_settings_of_the_compiler_are_another_device(backend_id: str, kept: Path) -> None:
    other = run(backend_id, kept, POCL_WORK_GROUP_METHOD="workitemloops", CL_CONFIG_USE_VECTORIZER="true")
    assert (other["compiles"], other["loads"], other["missed_device_or_runtime_changed"]) == (1, 0, 1)
    harmless = run(backend_id, kept, POCL_MAX_PTHREAD_COUNT="1")
    assert (harmless["compiles"], harmless["loads"]) == (0, 1)


def test_forgotten_proofs_are_made_again(backend_id: str, kept: Path) -> None:
    store = opened(kept)
    assert store.forget(PayloadKind.FACTS) == 1
    store.close()
    again = run(backend_id, kept)
    # The spellings are timed again too; where another is the fastest now, code that was kept is for other words.
    assert again["compiles"] + again["loads"] == 1
    assert again["built"] > 0


def test_a_damaged_store_costs_a_compilation(backend_id: str, kept: Path) -> None:
    path = kept / "vyre-1.sqlite3"
    whole = bytearray(path.read_bytes())
    for position in range(5000, len(whole), 3000):
        whole[position] ^= 0xFF
    path.write_bytes(whole)
    assert run(backend_id, kept)["compiles"] == 1
    assert run(backend_id, kept)["compiles"] == 0


def xor() -> Program:
    with program("xor", workgroup_size=64) as p:
        x = p.read("x", u32)
        out = p.write("out", u32, like=x)
        out[p.global_id(0)] = x[p.global_id(0)] ^ 5
    return p.build()


@pytest.mark.parametrize("binary", [b"", b"{}", b"not from here", b'{"kernels": ["xor"], "is_flat": false}\0rubbish'])
def test_rubbish_is_refused_not_run(backend_id: str, binary: bytes) -> None:
    """The engine gives only what it has compared; should a runtime not like even that, the program is compiled."""
    port = OpenClPort(backend_id, open_device(backend_id))
    with pytest.raises(KernelCompileFailed):
        port.load(binary)
    port.close()


def test_proofs_survive_as_bytes(backend_id: str) -> None:
    opened = open_device(backend_id)
    opened.show()
    proven = opened.proven
    again = from_bytes(to_bytes(proven))
    assert again == proven
    assert [*again.ops] == [*proven.ops]
    for damaged in (b"", b"[]", b"{}", to_bytes(proven)[:-1]):
        with pytest.raises((ValueError, LookupError, TypeError)):
            from_bytes(damaged)


def test_what_is_spelled_is_part_of_the_key(backend_id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two processes whose devices have chosen other words must not share code."""
    device = open_device(backend_id)
    one, other = (OpenClPort(backend_id, device) for _ in range(2))
    assert one.emitter() == other.emitter()
    dialect = device.dialect
    changed = replace(dialect, ops={**dialect.ops, ("add", u32): "({1} + {0})"})
    assert changed.target() == dialect.target()
    before = one.emitter()
    monkeypatch.setattr(device.facts, "dialect", changed)
    assert other.emitter() != before


def test_the_digest_of_the_words_is_the_same_everywhere(backend_id: str) -> None:
    code = (
        "from vyre_driver_opencl.opened import open_device; import sys; opened = open_device(sys.argv[1]);"
        "opened.show(); print(opened.dialect.digest())"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"}
    command = [sys.executable, "-c", code, backend_id]
    there = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.split()[-1]
    opened = open_device(backend_id)
    opened.show()
    assert there == opened.dialect.digest()


def test_a_kept_kernel_computes_the_same(backend_id: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VYRE_CACHE", "rw")
    monkeypatch.setenv("VYRE_CACHE_DIR", str(tmp_path))
    x = np.arange(100, dtype=np.uint32)
    for loads in (0, 1):
        backend = OpenClBackend(backend_id)
        assert bytes(backend.dispatch(xor(), [x])[0]) == (x ^ 5).tobytes()
        assert backend.backend_metric_snapshot()["loads"] == loads
        backend.shutdown()
