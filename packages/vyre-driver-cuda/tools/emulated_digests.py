"""Elementary functions over all 2**32 inputs on the emulation, digest by digest against the evidence of a runtime.

    python packages/vyre-driver-cuda/tools/emulated_digests.py --like opencl all

It is `packages/vyre-math/tools/exhaust.py` with the emulation as its backend, and takes the same words. What it writes
says that emitted CUDA C++ gives these bits by the rules of C++; it says nothing about a GPU.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
sys.path[:0] = [str(ROOT / "packages/vyre-driver-cuda/tests/emulation"), str(ROOT / "packages/vyre-math/tools")]

import exhaust  # noqa: E402
from cuda_emulation import registration  # noqa: E402

from vyre_driver.registry.backends import register  # noqa: E402

if __name__ == "__main__":
    register(registration)
    exhaust.main(["--backend", registration.id, *sys.argv[1:]])
