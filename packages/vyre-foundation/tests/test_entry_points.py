"""Two ways to the same entry points: the folders of distributions, and `importlib.metadata`, which is the oracle."""

import importlib.metadata
import json
import subprocess
import sys
from pathlib import Path

import pytest

from vyre_foundation import entry_points as subject
from vyre_foundation.entry_points import EntryPoint, entry_points

GROUPS = sorted(importlib.metadata.entry_points().groups)
READ = """
import json, sys
sys.path[:0] = json.loads(sys.argv[1])
from vyre_foundation.entry_points import entry_points
groups = json.loads(sys.argv[2])
found = {group: [(e.name, e.value, e.distribution, e.version) for e in entry_points(group)] for group in groups}
print(json.dumps({"found": found, "asked": "importlib.metadata" in sys.modules}))
"""


def read(*groups: str, path: tuple[Path, ...] = ()) -> tuple[dict[str, list[list[str]]], bool]:
    """What a process finds that does not have the library, and whether it has it then."""
    arguments = [json.dumps([str(place) for place in path]), json.dumps(groups)]
    done = subprocess.run([sys.executable, "-c", READ, *arguments], capture_output=True, text=True, check=True)
    said = json.loads(done.stdout)
    return said["found"], said["asked"]


def distribution(place: Path, folder: str, entries: str, metadata: str = "METADATA", head: str = "") -> None:
    (place / folder).mkdir(parents=True)
    (place / folder / "entry_points.txt").write_text(entries, "utf-8")
    name, _, version = folder.rpartition(".")[0].partition("-")
    said = head or f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    (place / folder / metadata).write_text(said, "utf-8")


def asked(group: str) -> list[list[str]]:
    """By the library, in this process."""
    return [[e.name, e.value, e.distribution, e.version] for e in entry_points(group)]


def test_what_is_installed_here_is_found_without_the_library() -> None:
    found, has_library = read(*GROUPS)
    assert not has_library
    assert found == {group: asked(group) for group in GROUPS}
    assert ["reference", "vyre_reference:registration"] in [entry[:2] for entry in found["vyre.backends"]]


ENTRIES = """
# a comment = with:sign
[console_scripts]
x = a:b

[ some.group ]
no = spaces:around

[some.group]
one = package.module:thing
  two=package:deep.er [extra]
#another = comment:here
three = package

[other]
four = package:four
"""


@pytest.mark.parametrize(("suffix", "metadata"), [(".dist-info", "METADATA"), (".egg-info", "PKG-INFO")])
def test_sections_are_read_as_the_library_reads_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str, metadata: str
) -> None:
    distribution(tmp_path, f"Some.Thing-1.5{suffix}", ENTRIES, metadata)
    monkeypatch.syspath_prepend(tmp_path)
    found, has_library = read("some.group", "other", "nobody", path=(tmp_path,))
    assert not has_library
    assert found == {group: asked(group) for group in ("some.group", "other", "nobody")}
    assert [entry[0] for entry in found["some.group"]] == ["one", "three", "two"]
    assert {tuple(entry[2:]) for entry in found["some.group"]} == {("Some.Thing", "1.5")}


def test_the_first_of_a_name_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    distribution(first, "some_thing-2.0.dist-info", "[some.group]\nnew = a:b\n")
    distribution(second, "Some.Thing-1.0.dist-info", "[some.group]\nold = a:b\n")
    for place in (second, first):
        monkeypatch.syspath_prepend(place)
    found, _ = read("some.group", path=(first, tmp_path / "nowhere", second))
    assert found["some.group"] == asked("some.group") == [["new", "a:b", "some_thing", "2.0"]]


def test_what_a_distribution_says_of_itself_ends_at_the_empty_line(tmp_path: Path) -> None:
    head = "Metadata-Version: 2.1\nName: real\nVersion: 3\nVersion: 4\n\nName: told in the description\n"
    distribution(tmp_path, "real-3.dist-info", "[some.group]\nx = a:b\n", head=head)
    assert read("some.group", path=(tmp_path,))[0]["some.group"] == [["x", "a:b", "real", "3"]]


def test_a_distribution_that_can_not_be_read_is_passed_over(tmp_path: Path) -> None:
    distribution(tmp_path, "good-1.dist-info", "[some.group]\nx = a:b\n")
    (tmp_path / "good-1.dist-info" / "METADATA").unlink()
    (tmp_path / "bad-1.dist-info").mkdir()
    (tmp_path / "bad-1.dist-info" / "entry_points.txt").write_bytes(b"[some.group]\n\xff = a:b\n")
    (tmp_path / "file-1.dist-info").write_text("no folder")
    assert read("some.group", path=(tmp_path,))[0]["some.group"] == [["x", "a:b", "good", "0"]]


def test_archives_are_left_to_the_library(tmp_path: Path) -> None:
    archive = tmp_path / "things.zip"
    import zipfile

    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("packed-1.dist-info/entry_points.txt", "[some.group]\nx = a:b\n")
        file.writestr("packed-1.dist-info/METADATA", "Metadata-Version: 2.1\nName: packed\nVersion: 1\n")
    found, has_library = read("some.group", path=(archive,))
    assert has_library
    assert found["some.group"] == [["x", "a:b", "packed", "1"]]


def test_other_finders_are_asked_by_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    class Finder:
        def find_distributions(self, context: object) -> list[object]:
            return []

    assert subject._are_folders() == all(
        finder is subject.PathFinder for finder in sys.meta_path if hasattr(finder, "find_distributions")
    )
    monkeypatch.setattr(sys, "meta_path", [subject.PathFinder])
    assert subject._are_folders()
    monkeypatch.setattr(sys, "meta_path", [subject.PathFinder, Finder()])
    assert not subject._are_folders()


@pytest.mark.parametrize(
    ("value", "loaded"),
    [
        ("json:dumps", json.dumps),
        ("pathlib : Path.cwd", Path.cwd),
        ("json:loads [extra]", json.loads),
        ("json", json),
    ],
)
def test_places_are_imported(value: str, loaded: object) -> None:
    assert EntryPoint("x", value, "somebody", "1").load() == loaded
