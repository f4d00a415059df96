"""Code across processes: what the store has is neither lowered nor compiled, and what it lost is made again."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from vyre_driver.backend.config import DispatchConfig
from vyre_driver.errors import DispatchFailed, KernelCompileFailed
from vyre_driver.pipeline import database
from vyre_driver.pipeline.store import DiskStore, shared_store
from vyre_driver.testing.fake_port import InjectedError
from vyre_driver.testing.target import generous_profile
from vyre_foundation.build import program
from vyre_foundation.dtype import u32
from vyre_foundation.ir.program import Program

Engine = Callable[..., SimpleNamespace]

X = np.arange(6, dtype=np.uint32)
DOUBLED = [(2 * X).tobytes()]
COUNTS = ("compiles", "loads", "saves")


def doubling(times: int = 2) -> Program:
    with program("doubling", 4) as p:
        x = p.read("x", u32)
        out = p.write("out", u32, like=x)
        out[p.global_id(0)] = x[p.global_id(0)] * times
    return p.build()


def double(x: Any) -> None:
    x["out"][:] = x["x"] * np.uint32(2)


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[DiskStore]:
    """A store of the test's own."""
    monkeypatch.setenv("VYRE_CACHE", "rw")
    monkeypatch.setenv("VYRE_CACHE_DIR", str(tmp_path / "cache"))
    store = shared_store()
    assert store is not None
    yield store
    store.close()


def counts(one: SimpleNamespace, *names: str) -> tuple[int, ...]:
    snapshot = one.backend.backend_metric_snapshot()
    return tuple(snapshot[name] for name in names or COUNTS)


def fill(engine: Engine) -> SimpleNamespace:
    """An earlier process, which has compiled."""
    one = engine(double)
    assert one.backend.dispatch(doubling(), [X]) == DOUBLED
    one.backend.shutdown()
    assert counts(one) == (1, 0, 1)
    return one


def test_a_later_process_does_not_compile(engine: Engine) -> None:
    first = fill(engine)
    assert first.ports[0].log.index("binary") > first.ports[0].log.index("copy_out")
    second = engine(double)
    assert second.backend.dispatch(doubling(), [X]) == DOUBLED
    assert counts(second) == (0, 1, 0)
    assert not {"emit", "compile", "binary"} & set(second.ports[0].log)
    snapshot = second.backend.pipeline_cache_snapshot()
    assert (snapshot.hits, snapshot.misses) == (1, 0)


def test_a_compiled_pipeline_is_found_too(engine: Engine) -> None:
    fill(engine)
    second = engine(double)
    with second.backend.compile_native(doubling()) as pipeline:
        assert pipeline.dispatch([X]) == DOUBLED
    assert counts(second) == (0, 1, 0)


def test_code_is_saved_once(engine: Engine) -> None:
    one = engine(double)
    for size in (1, 2, 3):
        one.backend.dispatch(doubling(), [X[:size]])
    assert (counts(one), one.ports[0].count("binary")) == ((1, 0, 1), 1)


def test_code_that_failed_is_not_saved(engine: Engine, store: DiskStore) -> None:
    one = engine(double, faults=[InjectedError("launch", DispatchFailed("no", backend="fake"))])
    with pytest.raises(DispatchFailed):
        one.backend.dispatch(doubling(), [X])
    assert [entry.kind for entry in store.entries()] == ["begun"]
    assert one.backend.dispatch(doubling(), [X]) == DOUBLED
    assert counts(one) == (1, 0, 1)
    assert [entry.kind for entry in store.entries()] == ["code"]


def test_another_configuration_is_other_code(engine: Engine) -> None:
    fill(engine)
    one = engine(double)
    assert one.backend.dispatch(doubling(), [X], DispatchConfig(ulp_budget=1)) == DOUBLED
    assert counts(one, "compiles", "missed_dispatch_policy_changed") == (1, 1)


def test_every_miss_says_why(engine: Engine) -> None:
    one = fill(engine)
    assert counts(one, "missed_empty_cache") == (1,)
    other = engine(double)
    other.backend.dispatch(doubling(3), [X])
    assert counts(other, "compiles", "missed_program_changed") == (1, 1)
    newer = engine(double, profile=replace(generous_profile(), driver_version="2"))
    newer.backend.dispatch(doubling(), [X])
    assert counts(newer, "compiles", "missed_device_or_runtime_changed") == (1, 1)


@pytest.mark.parametrize("column", ["payload", "digest", "identity", "device", "policy", "subject", "key"])
def test_damaged_code_is_made_again(engine: Engine, store: DiskStore, column: str) -> None:
    fill(engine)
    store.close()
    with closing(sqlite3.connect(store.settings.folder / database.FILE)) as connection, connection:
        (value,) = connection.execute(f"SELECT CAST({column} AS BLOB) FROM entry").fetchone()
        middle = len(value) // 2
        flipped = value[:middle] + bytes([value[middle] ^ 1]) + value[middle + 1 :]
        kept = flipped if column in ("payload", "digest") else flipped.decode()
        connection.execute(f"UPDATE entry SET {column} = ?", (kept,))
    one = engine(double)
    assert one.backend.dispatch(doubling(), [X]) == DOUBLED
    assert counts(one) == (1, 0, 1)
    later = engine(double)
    assert later.backend.dispatch(doubling(), [X]) == DOUBLED
    assert counts(later) == (0, 1, 0)


def test_code_that_the_device_refuses_is_made_again(engine: Engine) -> None:
    fill(engine)
    one = engine(double, faults=[InjectedError("load", KernelCompileFailed("fake", "not mine"))])
    assert one.backend.dispatch(doubling(), [X]) == DOUBLED
    assert counts(one, "refused_loads", *COUNTS) == (1, 1, 0, 1)


def test_a_binary_that_cannot_be_taken_harms_nothing(engine: Engine, caplog: pytest.LogCaptureFixture) -> None:
    one = engine(double, faults=[InjectedError("binary", DispatchFailed("no", backend="fake"))])
    assert one.backend.dispatch(doubling(), [X]) == DOUBLED
    assert counts(one, "failures", *COUNTS) == (0, 1, 0, 0)
    assert "code is not stored" in caplog.text


def test_a_port_without_binaries_compiles_in_every_process(engine: Engine) -> None:
    for _ in range(2):
        one = engine(double, has_binaries=False)
        assert one.backend.dispatch(doubling(), [X]) == DOUBLED
        assert counts(one) == (1, 0, 0)


@pytest.mark.parametrize("mode", ["off", "ro"])
def test_modes_that_keep_nothing(engine: Engine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, mode: str) -> None:
    monkeypatch.setenv("VYRE_CACHE", mode)
    one = engine(double)
    assert one.backend.dispatch(doubling(), [X]) == DOUBLED
    assert counts(one) == (1, 0, 0)
    assert one.ports[0].count("binary") == 0
    assert not (tmp_path / "cache").exists()


def test_a_folder_that_cannot_be_used_costs_one_line(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("VYRE_CACHE_DIR", str(tmp_path / "file" / "cache"))
    one = engine(double)
    for times in range(2, 5):
        one.backend.dispatch(doubling(times), [X])
    assert counts(one) == (3, 0, 0)
    assert len(caplog.messages) == 1
