"""The entry points of what is installed, where some of it is damaged."""

import sys
import zipfile
from pathlib import Path

import pytest

from vyre_foundation.errors import DamagedDistribution
from vyre_foundation.plugins import installed_distributions, plugins

TEXT = "[vyre.test]\nnear = there:it\n"


def folder(place: Path, entries: bytes = TEXT.encode(), description: bytes = b"Name: thing\nVersion: 1\n") -> Path:
    described = place / "thing-1.dist-info"
    described.mkdir(parents=True)
    (described / "METADATA").write_bytes(b"Metadata-Version: 2.1\n" + description)
    (described / "entry_points.txt").write_bytes(entries)
    return place


def wheel(place: Path, damaged: str = "") -> Path:
    """A wheel in which the contents of a file are not those of its checksum."""
    place.mkdir()
    file = place / "thing-1-py3-none-any.whl"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("thing-1.dist-info/METADATA", "Metadata-Version: 2.1\nName: thing\nVersion: 1\n")
        archive.writestr("thing-1.dist-info/entry_points.txt", TEXT)
    data = file.read_bytes()
    assert data.count(TEXT.encode()) == 1
    file.write_bytes(data.replace(TEXT.encode(), TEXT.replace("near", damaged).encode()) if damaged else data)
    return file


@pytest.mark.parametrize("make", [folder, wheel])
def test_whole_distributions_are_read(make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(make(tmp_path / "place")))
    assert [entry.name for entry in plugins("vyre.test")] == ["near"]
    assert "thing" in dict(installed_distributions())


@pytest.mark.parametrize("kind", ["wheel", "encoding"])
def test_a_damaged_distribution_is_named(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if kind == "wheel":
        place = wheel(tmp_path / "place", damaged="far!")
    else:
        place = folder(tmp_path / "place", b"[vyre.test]\nn\xe4r = a:b\n")
    monkeypatch.syspath_prepend(str(place))
    with pytest.raises(DamagedDistribution, match=r"Fix: reinstall it, or remove it$") as error:
        plugins("vyre.test")
    assert error.value.where == f"thing in {place}"
    monkeypatch.setenv("VYRE_DISABLE_PLUGINS", "all")
    assert plugins("vyre.test") == []


def test_a_description_that_is_not_text_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = folder(tmp_path / "place", description=b"Name: th\xefng\nVersion: 1\n")
    monkeypatch.syspath_prepend(str(place))
    with pytest.raises(DamagedDistribution) as error:
        list(installed_distributions())
    assert error.value.where == f"a distribution in {place}"


def test_what_is_no_archive_has_no_distributions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "thing.whl"
    file.write_bytes(b"PK\x03\x04 and nothing else")
    monkeypatch.syspath_prepend(str(file))
    assert plugins("vyre.test") == []


def test_a_finder_that_fails_is_no_other_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that a tool has put into `sys.meta_path`."""

    class Finder:
        def find_spec(self, *_: object) -> None: ...

        def find_distributions(self, *_: object) -> list[object]:
            raise OSError("no index")

    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, Finder()])
    with pytest.raises(DamagedDistribution, match=r"cannot be read: OSError: no index\. Fix: reinstall it") as error:
        plugins("vyre.test")
    assert error.value.where == "an installed distribution"
    with pytest.raises(DamagedDistribution, match="OSError: no index"):
        list(installed_distributions())
