"""Programs as text: what their comments say is what is run, and a line that cannot be read is an error."""

import pytest

from vyre_conform.case import Exactly, ExpectedTrap
from vyre_conform.cases.corpus import BadCorpus, CorpusRun, runs_of, specs, texts, worked_out
from vyre_conform.oracle import settle

PROGRAM = """
program p workgroup(2, 1, 1) {
  read x: i8[] @0;
  write y: f32[len(x)] @1;
  write z: bool[2] @2;

  y[global_id.x] = f32(x[global_id.x]);
}
"""


def only(comments: str) -> CorpusRun:
    (run,) = runs_of(comments + PROGRAM, "p")
    return run


def test_every_file_has_runs_and_every_opinion_agrees_with_them() -> None:
    assert {spec.address.name for spec in specs()} == set(texts())
    for spec in specs():
        assert settle(spec.case()).mismatches == {}


def test_a_run_is_what_is_written() -> None:
    run = only("# run: a grid=1,2,3 workgroup=4,1,1 iterations=5\n#   in  x = 1 -2 0x7f\n#   out y ~ 1.5 -0.0\n")
    launch, expected = worked_out(PROGRAM, run)
    assert (launch.grid, launch.workgroup, launch.iterations) == ((1, 2, 3), (4, 1, 1), 5)
    assert launch.inputs == {"x": b"\x01\xfe\x7f"}
    assert expected == Exactly((b"\0\0\xc0\x3f\0\0\0\x80", b""), unordered=("y",))


def test_a_trap_is_expected_by_its_facts() -> None:
    run = only('# run: a\n#   trap "two words" code=3 invocation=1\n')
    assert worked_out(PROGRAM, run)[1] == ExpectedTrap("two words", 3, 1)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("#   in  x = 1", "p.vyre:1: '#   in  x = 1' stands before any run"),
        ("# run: a\n#   in x 1", "p.vyre:2: 'x 1' cannot be read"),
        ("# run: a\n#   out y", "p.vyre:2: 'y' cannot be read"),
        ("# run: a\n#   trap tag code=1", "p.vyre:2: 'tag code=1' cannot be read"),
    ],
)
def test_a_line_that_cannot_be_read(line: str, words: str) -> None:
    with pytest.raises(BadCorpus, match=words.replace("(", r"\(")):
        only(line + "\n")
