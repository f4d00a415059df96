"""The CUDA backend of vyre: NVRTC compiles, CuPy launches."""

from __future__ import annotations

__version__ = "0.1.0"
