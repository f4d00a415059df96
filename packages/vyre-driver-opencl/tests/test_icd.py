import ctypes
from dataclasses import replace
from pathlib import Path

import pytest

from vyre_driver_opencl import icd
from vyre_driver_opencl.icd import INTEL, POCL, EmbeddedRuntime


def test_the_embedded_runtime_is_found_by_its_distribution() -> None:
    library = icd.locate(POCL)
    assert library is not None
    assert library.is_absolute()
    assert library.name.startswith("libpocl")


def test_it_is_found_in_another_place_too() -> None:
    assert icd.locate(replace(POCL, home="")) == icd.locate(POCL)


def test_what_is_not_installed_is_not_found() -> None:
    assert icd.locate(EmbeddedRuntime("none", "no-such-distribution", "*")) is None
    assert icd.locate(EmbeddedRuntime("none", "pyopencl", "libnothing*.so")) is None


def test_attached_platforms_are_those_that_the_loader_lists() -> None:
    library = icd.locate(POCL)
    assert library is not None
    attached = {platform.int_ptr for platform in icd.attach(POCL, library)}
    assert attached
    assert attached == {platform.int_ptr for platform in icd.attach(POCL, library)}


def test_what_is_no_library_is_refused(tmp_path: Path) -> None:
    fake = tmp_path / "libpocl.so"
    fake.write_text("no library")
    with pytest.raises(OSError, match="libpocl"):
        icd.attach(POCL, fake)


def test_a_library_that_is_no_runtime_has_no_platforms() -> None:
    class Library:
        """One that answers, and knows no extension function."""

        clGetExtensionFunctionAddress = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_char_p)(lambda name: None)

    assert icd._platform_handles(Library()) == []  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["folder", "file"])
def test_registered_runtimes_are_those_of_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    file = tmp_path / "mine.icd"
    file.write_text("libmine.so\n")
    monkeypatch.setenv("OCL_ICD_VENDORS", str(tmp_path if kind == "folder" else file))
    assert icd.registered() == [file]


def test_the_environment_is_what_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    monkeypatch.delenv("OCL_ICD_VENDORS", raising=False)
    before = dict(os.environ)
    icd.listed(only=icd.locate(INTEL))
    assert dict(os.environ) == before
