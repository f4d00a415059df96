import ctypes
import os
import subprocess
import sys
from pathlib import Path

import pytest

from vyre_driver_opencl import icd
from vyre_driver_opencl.icd import INTEL, POCL, EmbeddedRuntime


def test_the_embedded_runtime_is_found_by_its_distribution() -> None:
    library = icd.locate(POCL)
    assert library is not None
    assert library.is_absolute()
    assert library.name.startswith("libpocl")


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


# ── what PoCL keeps ──


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of its own for PoCL, which nothing tells where to compile."""
    for name in ("POCL_CACHE_DIR", "POCL_KERNEL_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def test_pocl_keeps_nothing_unless_the_user_says_so(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with icd.pocl_settings():
        assert os.environ["POCL_KERNEL_CACHE"] == "0"
        assert "POCL_CACHE_DIR" not in os.environ
    assert "POCL_KERNEL_CACHE" not in os.environ
    monkeypatch.setenv("POCL_KERNEL_CACHE", "1")
    monkeypatch.setenv("POCL_CACHE_DIR", "/there")
    with icd.pocl_settings():
        assert (os.environ["POCL_KERNEL_CACHE"], os.environ["POCL_CACHE_DIR"]) == ("1", "/there")


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="this system has no user ids")
@pytest.mark.parametrize("case", ["no home", "a home that others may write", "a folder that others may write"])
def test_pocl_compiles_where_no_other_user_writes(home: Path, case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    match case:
        case "no home":
            monkeypatch.delenv("HOME")
        case "a home that others may write":
            home.chmod(0o777)
        case _:
            (home / ".cache" / "pocl").mkdir(parents=True)
            (home / ".cache" / "pocl").chmod(0o777)
    with icd.pocl_settings():
        folder = Path(os.environ["POCL_CACHE_DIR"])
    assert folder.stat().st_mode & 0o077 == 0
    with icd.pocl_settings():
        assert Path(os.environ["POCL_CACHE_DIR"]) == folder


DISPATCH = """
import numpy as np
from vyre_driver_opencl.backend import OpenClBackend
from vyre_foundation.build import program
from vyre_foundation.dtype import u32
with program("xor", workgroup_size=64) as p:
    x = p.read("x", u32)
    out = p.write("out", u32, like=x)
    out[p.global_id(0)] = x[p.global_id(0)] ^ 5
given = np.arange(100, dtype=np.uint32)
assert bytes(OpenClBackend().dispatch(p.build(), [given])[0]) == (given ^ 5).tobytes()
"""


def test_machine_code_that_pocl_has_kept_is_not_executed(home: Path, proven: dict[str, str]) -> None:
    """PoCL executes files without looking at them: one that was cut ends the process, one that was changed computes
    something else. With PoCL's own cache the second process shows that; without it nothing is found or left."""

    def ends_well(**variables: str) -> bool:
        environment = {**os.environ, "VYRE_OPENCL_DEVICE": "pocl", **proven, **variables}
        done = subprocess.run([sys.executable, "-c", DISPATCH], env=environment, capture_output=True, timeout=300)
        return done.returncode == 0

    def contents() -> dict[Path, bytes]:
        """The cached machine code. PoCL does not read the folder `uncached`, where a process may leave files."""
        return {path: path.read_bytes() for path in home.rglob("*.so") if "uncached" not in path.parts}

    assert ends_well(POCL_KERNEL_CACHE="1")
    kept = {*home.rglob("*.so")}
    assert kept
    for code in kept:
        code.write_bytes(code.read_bytes()[:1000])
    assert not ends_well(POCL_KERNEL_CACHE="1")
    before = contents()
    assert before.keys() >= kept
    assert ends_well()
    assert contents() == before
