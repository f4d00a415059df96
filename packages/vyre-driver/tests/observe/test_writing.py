"""Places that commands write: refused before the work, and named where writing fails."""

import sys
from io import StringIO
from pathlib import Path

import pytest

from vyre_driver.observe.writing import CLOSED, UNWRITABLE, require_writable, standard_output, writing
from vyre_foundation.errors import VyreError


def test_a_place_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("kept")
    for place in (tmp_path, file / "below", file / "far" / "below", tmp_path / ("x" * 300)):
        with pytest.raises(VyreError, match=r"^--output: .*\. Fix: "):
            require_writable(place, "--output")
    for place in (file, tmp_path / "new", tmp_path / "a" / "b" / "new"):
        require_writable(place, "--output")
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]
    assert file.read_text() == "kept"


def test_folders_are_made_and_failures_are_named(tmp_path: Path) -> None:
    file = tmp_path / "a" / "b" / "new"
    with writing(file, "--output"):
        file.write_text("it is there")
    with pytest.raises(VyreError, match=r"^--output: .* cannot be written: no room\. Fix: "), writing(file, "--output"):
        raise OSError(28, "no room")


class Broken(StringIO):
    """A stream that takes text, and fails when that has to go out."""

    def __init__(self, error: OSError) -> None:
        super().__init__()
        self.error = error

    def flush(self) -> None:
        raise self.error


FULL = "standard output cannot be written: no room. Fix: send it to another place\n"


@pytest.mark.parametrize(
    ("error", "status", "said"), [(OSError(28, "no room"), UNWRITABLE, FULL), (BrokenPipeError(), CLOSED, "")]
)
@pytest.mark.parametrize("own", [0, 3])
def test_standard_output_that_fails_ends_the_process(
    error: OSError,
    status: int,
    said: str,
    own: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    stream = Broken(error)
    monkeypatch.setattr(sys, "stdout", stream)
    with pytest.raises(SystemExit) as caught, standard_output():
        sys.exit(own)
    assert caught.value.code == status
    assert sys.stdout is stream
    assert capsys.readouterr().err == said


def test_a_process_without_standard_output_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    with standard_output():
        pass
