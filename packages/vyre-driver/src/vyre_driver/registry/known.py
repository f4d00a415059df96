"""The distributions of known backends, for messages about missing backends. Nothing else depends on the table."""

from __future__ import annotations

from types import MappingProxyType

# fmt: off
INSTALL_HINTS = MappingProxyType({
    "cpu":          "pip install vyre-driver-cpu",
    "cuda":         "pip install 'vyre-driver-cuda[cuda12]'",
    "dask":         "pip install vyre-distributed",
    "opencl":       "pip install vyre-driver-opencl",
    "opencl-gpu":   "pip install vyre-driver-opencl",
    "opencl-intel": "pip install 'vyre-driver-opencl[intel]'",
    "reference":    "pip install vyre-reference",
})
# fmt: on


def install_hint(backend: str, registered: tuple[str, ...]) -> str:
    """Return the remedy for a backend id that is not registered."""
    if backend in INSTALL_HINTS:
        return INSTALL_HINTS[backend]
    offers = "; ".join(f"{id}: {command}" for id, command in INSTALL_HINTS.items() if id not in registered)
    choose = f"choose one of {', '.join(registered)}" if registered else "install a backend"
    return f"{choose}{f' ({offers})' if offers else ''}"
