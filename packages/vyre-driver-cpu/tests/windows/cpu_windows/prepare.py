"""``python -m cpu_windows.prepare`` compiles `host.c`, and fetches the llvmlite for Windows that this process has."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import llvmlite

from cpu_windows.process import COMPILER, FOLDER, HOST


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    subprocess.run([COMPILER, "-O1", "-Wall", "-o", FOLDER / HOST, Path(__file__).with_name("host.c")], check=True)
    wanted = f"llvmlite=={llvmlite.__version__}"
    options = ("--quiet", "--no-deps", "--only-binary", ":all:", "--platform", "win_amd64", "--dest", FOLDER)
    subprocess.run([sys.executable, "-m", "pip", "download", *options, wanted], check=True)
    for wheel in FOLDER.glob(f"llvmlite-{llvmlite.__version__}-*.whl"):
        with zipfile.ZipFile(wheel) as files:
            for name in files.namelist():
                if name.endswith(".dll"):
                    (FOLDER / Path(name).name).write_bytes(files.read(name))


if __name__ == "__main__":
    main()
