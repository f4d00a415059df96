"""Where figures come from: the machine, the interpreter, the versions of everybody, the day."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import time
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


def describe() -> dict[str, Any]:
    return {
        "commit": _said("git", "-C", str(HERE), "describe", "--always", "--dirty=+"),
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.release()}, {' '.join(platform.libc_ver())}".strip(", "),
        "python": platform.python_version(),
        "compiler": _said("gcc", "--version").partition("\n")[0],
        "versions": {name: version for name in _distributions() if (version := _version(name))},
    }


class Moment:
    """When a suite was measured, for how long, and what else the machine did."""

    def __init__(self) -> None:
        self._began, self._clock, self._load = datetime.now(UTC), time.monotonic(), load()

    def facts(self) -> dict[str, Any]:
        return {
            "date": self._began.strftime("%Y-%m-%d %H:%M UTC"),
            "seconds": round(time.monotonic() - self._clock),
            "load": [self._load, load()],
        }


def load() -> float | None:
    """Processes that wanted a core, over the last minute; above 1 for each core others were in the way."""
    return round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None


def _distributions() -> list[str]:
    """NumPy, what vyre needs, and the peers of `requirements-peers.txt`."""
    lines = (HERE / "requirements-peers.txt").read_text("utf-8").splitlines()
    peers = [line.partition("[")[0].split()[0] for line in lines if line.strip() and not line.startswith("#")]
    return ["numpy", "vyre-foundation", "pyopencl", "pocl-binary-distribution", *peers]


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _said(*command: str) -> str:
    if shutil.which(command[0]) is None:
        return ""
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def _cpu() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text("utf-8").splitlines() if info.exists() else []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    families = (line.partition(":")[2].strip() for line in lines if line.startswith("cpu family"))
    name = next(names, platform.processor())
    return f"{name}, family {family}" if (family := next(families, "")) else name


def as_text(facts: dict[str, Any]) -> str:
    """One paragraph."""
    versions = ", ".join(f"{name} {version}" for name, version in facts["versions"].items())
    return (
        f"Commit {facts['commit']}; {facts['cores']} cores of {facts['cpu']}; {facts['system']}; "
        f"Python {facts['python']}; {facts['compiler'] or 'no C compiler'}. {versions}.\n"
    )
