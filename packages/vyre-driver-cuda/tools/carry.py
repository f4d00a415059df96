"""Gathers the wheels that a machine with a GPU but without a network needs: this project's, and what they miss there.

    python packages/vyre-driver-cuda/tools/carry.py FOLDER [--python 3.12]

The project's wheels are built from the files of this working tree, the others downloaded for Linux on x86-64. NumPy,
CuPy, the CUDA bindings and NVRTC are expected to be there; `--all` gathers those of CUDA 13 too, which are large.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
PACKAGES = (
    *("vyre-foundation", "vyre-math", "vyre-driver", "vyre-reference", "vyre-algorithms"),
    *("vyre-driver-cpu", "vyre-driver-opencl", "vyre-driver-cuda", "vyre-conform", "vyre"),
)
MISSING = ("blake3", "click", "gmpy2", "ml_dtypes", "platformdirs", "pyopencl", "pytools", "siphash24")
CUDA = ("cuda-bindings==13.*", "cuda-pathfinder", "cupy-cuda13x", "nvidia-cuda-nvrtc==13.*")
PLATFORMS = [f"manylinux_2_{n}_x86_64" for n in (17, 24, 27, 28, 31, 34)] + ["manylinux2014_x86_64"]
LIMIT = 60 * 2**20
"""Bytes that may travel."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--python", default="3.12", help="of the machine with the GPU")
    parser.add_argument("--all", action="store_true", help="CuPy, the CUDA bindings and NVRTC too")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    for old in options.folder.glob("vyre*.whl"):
        old.unlink()
    pip = [sys.executable, "-m", "pip"]
    for package in PACKAGES:
        build = [*pip, "wheel", "-q", "--no-deps", "-w", str(options.folder), str(ROOT / "packages" / package)]
        subprocess.run(build, check=True)
    target = ["--python-version", options.python, "--implementation", "cp", "--only-binary=:all:", "--no-deps"]
    target += [word for platform in PLATFORMS for word in ("--platform", platform)]
    wanted = MISSING + (CUDA if options.all else ())
    subprocess.run([*pip, "download", "-q", *target, "-d", str(options.folder), *wanted], check=True)
    size = sum(wheel.stat().st_size for wheel in options.folder.glob("*.whl"))
    for wheel in sorted(options.folder.glob("*.whl")):
        print(f"{wheel.stat().st_size / 2**20:7.2f} MiB  {wheel.name}")
    print(f"{size / 2**20:7.2f} MiB")
    if size > LIMIT and not options.all:
        print(f"more than {LIMIT / 2**20:.0f} MiB: leave some out", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
