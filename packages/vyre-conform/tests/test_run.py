"""The file of a run: it goes on after an interruption, its shards make a whole, and nobody changes it unnoticed."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from vyre_conform import Cell, Query, Run, State, Suite, Task, merge, prove, read_run, write_run
from vyre_conform.address import address
from vyre_conform.cell import Digests, OracleMismatch
from vyre_conform.proving import Watch
from vyre_conform.run import BadRun, Journal, RunsDiffer, header
from vyre_conform.worker import Hello

pytestmark = pytest.mark.usefixtures("forked")

QUERIES = (Query.parse("traps:*"), Query.parse("ops:add:dtype=u8"))
SUITE = Suite(queries=QUERIES)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory, forked: None) -> Path:
    path = tmp_path_factory.mktemp("runs") / "run.jsonl"
    prove(["reference"], SUITE, journal=path)
    return path


def cells(run: Run) -> dict[tuple[str, str], Cell]:
    return {cell.key: replace(cell, seconds=0.0) for cell in run.cells}


def test_a_run_is_read_as_it_was(finished: Path) -> None:
    again, read = prove(["reference"], SUITE), read_run(finished)
    assert read.is_complete
    assert cells(read) == cells(again)
    assert (read.task, read.backends, read.host) == (again.task, again.backends, again.host)
    assert read.coverage == again.coverage
    assert read.coverage["apply", "add", "u8"] > 300
    assert len(read.cells) == read.task.cells > 20


def test_the_digest_stands_for_all_of_it(finished: Path, tmp_path: Path) -> None:
    run = read_run(finished)
    assert run.digest == finished.read_text("utf-8").splitlines()[-1].split(" ")[0]
    assert write_run(run, tmp_path / "copy") == read_run(tmp_path / "copy").digest


class Interrupted(Exception):
    """As if somebody pulled the plug."""


class PullsThePlug(Watch):
    def __init__(self, after: int) -> None:
        self.left = after

    def judged(self, cell: Cell) -> None:
        self.left -= 1
        if self.left == 0:
            raise Interrupted


@pytest.mark.parametrize("after", [1, 5, 15])
def test_an_interrupted_run_goes_on(after: int, finished: Path, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    with pytest.raises(Interrupted):
        prove(["reference"], SUITE, journal=path, watch=PullsThePlug(after))
    half = read_run(path)
    assert not half.is_complete
    assert len(half.cells) == after
    whole = prove(["reference"], SUITE, journal=path, resume=True)
    assert whole.is_complete
    assert cells(read_run(path)) == cells(whole) == cells(read_run(finished))
    assert len(whole.cells) == len(cells(whole))


def test_a_run_that_is_there_is_replaced_only_when_asked(finished: Path, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_bytes(finished.read_bytes())
    few = replace(SUITE, queries=QUERIES[:1])
    with pytest.raises(RunsDiffer, match=r"has the cells of a run\. Fix: pass --resume, --overwrite, or another file"):
        prove(["reference"], few, journal=path)
    assert path.read_bytes() == finished.read_bytes()
    assert len(prove(["reference"], few, journal=path, overwrite=True).cells) == len(read_run(path).cells) == 17
    lines = path.read_bytes().split(b"\n")
    path.write_bytes(b"\n".join(lines[:2]) + b"\n")
    assert len(prove(["reference"], few, journal=path).cells) == 17  # it had no cells
    path.write_text("another text\n", "utf-8")
    with pytest.raises(RunsDiffer, match=r"is another file, or a damaged journal\. Fix: name another file"):
        prove(["reference"], few, journal=path)
    assert path.read_text("utf-8") == "another text\n"


def test_a_line_that_was_cut_off_does_not_count(finished: Path, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    lines = finished.read_bytes().split(b"\n")
    path.write_bytes(b"\n".join(lines[:9]) + b"\n" + lines[9][:40])
    assert len(read_run(path).cells) == 9 - 2
    assert prove(["reference"], SUITE, journal=path, resume=True).is_complete
    assert cells(read_run(path)) == cells(read_run(finished))


@pytest.mark.parametrize("value", [None, True, 1, "text", [], [1, 2], {}], ids=repr)
@pytest.mark.parametrize("kind", ["task", "backend", "cell", "mismatch", "undecided", "decided", "coverage", "paused"])
def test_a_line_of_another_type_is_refused(kind: str, value: object, finished: Path, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    first, journal = header(read_run(finished)), Journal(path)
    for line in [first | {"task": value}] if kind == "task" else [first, {kind: value}]:
        journal.write(line)
    journal.close()
    if (kind, value) in (("coverage", {}), ("paused", 1)) and value is not True:
        read_run(path)
    else:
        with pytest.raises(BadRun, match=r"Fix: "):
            read_run(path)


@pytest.mark.parametrize(
    ("backends", "suite", "seed"),
    [
        (["reference-scalar"], SUITE, 0),
        (["reference"], SUITE, 1),
        (["reference"], replace(SUITE, repeats=3), 0),
        (["reference"], replace(SUITE, queries=QUERIES[:1]), 0),
    ],
)
def test_only_the_same_run_goes_on(backends: list[str], suite: Suite, seed: int, finished: Path) -> None:
    before = finished.read_bytes()
    with pytest.raises(RunsDiffer, match=r"the run in run.jsonl is not this one\. Fix: finish it with the options"):
        prove(backends, suite, seed, journal=finished, resume=True)
    assert finished.read_bytes() == before


CHANGES: dict[str, Callable[[list[str]], object]] = {
    "a state": lambda lines: lines.__setitem__(5, lines[5].replace("pass-exact", "skipped")),
    "a digest": lambda lines: lines.__setitem__(5, "0" * 64 + lines[5][64:]),
    "a line less": lambda lines: lines.pop(6),
    "a line twice": lambda lines: lines.insert(6, lines[6]),
    "two lines swapped": lambda lines: lines.insert(6, lines.pop(7)),
    "another device": lambda lines: lines.__setitem__(1, lines[1].replace("host interpreter", "a better one")),
    "another seed": lambda lines: lines.__setitem__(0, lines[0].replace('"seed":0', '"seed":1')),
    "not JSON": lambda lines: lines.__setitem__(3, "x"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_file_is_refused(change: str, finished: Path, tmp_path: Path) -> None:
    lines = finished.read_text("utf-8").split("\n")
    CHANGES[change](lines)
    (tmp_path / "run").write_text("\n".join(lines), "utf-8")
    with pytest.raises(BadRun, match=r"run:\d+: line \d+ cannot be trusted"):
        read_run(tmp_path / "run")


def test_a_cell_of_a_backend_that_took_no_part_is_refused(finished: Path, tmp_path: Path) -> None:
    run = read_run(finished)
    write_run(replace(run, cells=[replace(run.cells[0], backend="another")]), tmp_path / "run")
    with pytest.raises(BadRun, match="no backend 'another' took part in the run"):
        read_run(tmp_path / "run")


def test_an_empty_file_is_no_run(tmp_path: Path) -> None:
    (tmp_path / "run").write_bytes(b"")
    with pytest.raises(BadRun, match="it does not say what the run is about"):
        read_run(tmp_path / "run")


@pytest.fixture(scope="module")
def shards() -> list[Run]:
    return [prove(["reference"], replace(SUITE, shard=(part, 3))) for part in (1, 2, 3)]


def test_shards_make_a_whole(shards: list[Run], finished: Path) -> None:
    assert min(len(shard.cells) for shard in shards) > 2
    merged = merge([shards[2], shards[0], shards[1]])
    assert merged.is_complete
    assert merged.task == read_run(finished).task
    assert cells(merged) == cells(read_run(finished))
    assert merged.coverage == read_run(finished).coverage
    assert merged.digest == write_run(merged)


def test_a_part_is_missing(shards: list[Run]) -> None:
    with pytest.raises(RunsDiffer, match=r"the shards 1/3, 3/3 are not a whole"):
        merge([shards[0], shards[2]])
    with pytest.raises(RunsDiffer, match=r"the shards 1/3, 1/3, 2/3 are not a whole"):
        merge([shards[0], shards[0], shards[1]])


def changed(run: Run, **fields: object) -> Run:
    return replace(run, **fields)  # type: ignore[arg-type]


def test_only_like_runs_are_merged(shards: list[Run]) -> None:
    one, two, three = shards
    with pytest.raises(RunsDiffer, match="not about the same task"):
        merge([one, two, changed(three, task=replace(three.task, seed=4))])
    with pytest.raises(RunsDiffer, match="a shard is not complete"):
        merge([one, two, changed(three, is_complete=False)])
    with pytest.raises(RunsDiffer, match="on different backends or devices"):
        merge([one, two, changed(three, backends=[Hello("reference", "9.9")])])
    with pytest.raises(RunsDiffer, match="cells were merged, expected"):
        merge([one, two, changed(three, cells=three.cells[:-1])])
    with pytest.raises(RunsDiffer, match="cells were merged, expected"):
        merge([one, two, changed(three, cells=[*three.cells[:-1], two.cells[0]])])


def test_everything_survives_the_file(tmp_path: Path) -> None:
    task = Task(
        seed=3, queries=("a", "b:*"), size="full", fuzz=7, repeats=2, seconds=1.5, corpus="00", cells=9,
        gaps=(("ops:*", "mine", "because", "there"),), versions={"vyre-driver": "1"}, shard=(2, 5),
    )  # fmt: skip
    cell = Cell(
        address=address("ops", "add", dtype="u8", values="nan"), backend="b", state=State.CRASHED, reason="“no”",
        output="out", index=0, got="1", expected="2", differing=3, seconds=0.25, digests=Digests("a", "b", "c", "d"),
        log="gone\n", reproducer="x.vyre",
    )  # fmt: skip
    run = Run(task=task, host={"cores": "2"}, backends=[Hello("b", "1", {"device": "d"}, "p", "f")], cells=[cell])
    run.mismatches.append(OracleMismatch(cell.address, "numpy", "3"))
    run.coverage["load", "u8", "storage"] = 12
    run.seconds, run.is_complete = 2.5, True
    run.digest = write_run(run, tmp_path / "run")
    assert read_run(tmp_path / "run") == run
    plain = json.loads(json.dumps(cell.to_json()))
    assert Cell.from_json(plain) == cell
