"""Where PoCL and PyOpenCL may keep files: users without a writable home run programs too."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from vyre_driver_opencl.folders import is_private, secure_pyopencl_cache

DISPATCH = """
import sys
import numpy as np
from vyre_driver.registry.backends import acquire
from vyre_foundation.build import program
from vyre_foundation.dtype import u32
with program("xor", workgroup_size=64) as p:
    x = p.read("x", u32)
    out = p.write("out", u32, like=x)
    out[p.global_id(0)] = x[p.global_id(0)] ^ 5
given = np.arange(100, dtype=np.uint32)
assert bytes(acquire("opencl").dispatch(p.build(), [given])[0]) == (given ^ 5).tobytes()
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file: no user, root included, can create a folder below it."""
    made = tmp_path / "file"
    made.touch()
    return made


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="the cache folder is another one there")
@pytest.mark.parametrize("home", ["no folder", "none"])
def test_users_without_a_writable_home_run_programs(file: Path, home: str, proven: dict[str, str]) -> None:
    """As those of build machines and containers, whose home is /nonexistent or who have none."""
    variables = {"VYRE_OPENCL_DEVICE": "pocl", **proven}
    unset = {"XDG_CACHE_HOME", "POCL_CACHE_DIR", "PYOPENCL_NO_CACHE", "HOME"}
    environment = {name: value for name, value in os.environ.items() if name not in unset} | variables
    environment["HOME"] = str(file / "home") if home == "no folder" else "~"
    command = [sys.executable, "-W", "error", "-c", DISPATCH]
    done = subprocess.run(
        command, env=environment, cwd=file.parent, capture_output=True, encoding="utf-8", timeout=300, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert [path.name for path in file.parent.iterdir()] == ["file"]


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="the cache folder is another one there")
@pytest.mark.parametrize("said", [None, "0"])
@pytest.mark.parametrize("writable", [True, False])
def test_pyopencl_caches_where_this_user_alone_writes(
    tmp_path: Path, file: Path, monkeypatch: pytest.MonkeyPatch, said: str | None, writable: bool
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path if writable else file))
    monkeypatch.setenv("PYOPENCL_NO_CACHE", said or "")
    if said is None:
        monkeypatch.delenv("PYOPENCL_NO_CACHE")
    secure_pyopencl_cache()
    assert os.environ.get("PYOPENCL_NO_CACHE") == (said if said or writable else "1")


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="this system has no user ids")
def test_a_folder_is_private_where_its_first_existing_part_is(tmp_path: Path, file: Path) -> None:
    assert is_private(tmp_path / "new" / "folder")
    assert not is_private(file / "folder")
    assert not is_private(Path("~/.cache"))
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    assert not is_private(tmp_path / "open" / "folder")
