"""Locks that a thread waits for are free in a forked process: they belong to a `ForkGuard`, or forks wait for them.

That includes those of `functools.cached_property` in Python 3.11.
"""

import ast
import re
from pathlib import Path

import pytest

# Locks that are renewed, waited for, or asked without waiting, by file and number.
ALLOWED = {
    "vyre-algorithms/src/vyre_algorithms/replay.py": 1,  # asked without waiting
    "vyre-conform/src/vyre_conform/controls/hunt.py": 3,  # a program of its own, which forks nothing
    "vyre-conform/src/vyre_conform/proving.py": 1,
    "vyre-distributed/src/vyre_distributed/backend.py": 1,  # a client of a cluster does not outlive a fork
    "vyre-distributed/src/vyre_distributed/pipeline.py": 1,
    "vyre-driver-cpu/src/vyre_driver_cpu/cpu.py": 1,  # forks wait for it
    "vyre-driver-cpu/src/vyre_driver_cpu/order.py": 1,  # of a port, which stays with the parent
    "vyre-driver-cuda/src/vyre_driver_cuda/order.py": 1,
    "vyre-driver-opencl/src/vyre_driver_opencl/compiler.py": 1,
    "vyre-driver-opencl/src/vyre_driver_opencl/order.py": 1,
    "vyre-driver/src/vyre_driver/engine/pending.py": 2,  # of work in flight, which stays with the parent
    "vyre-driver/src/vyre_driver/engine/session.py": 2,  # renewed with the session
    "vyre-driver/src/vyre_driver/pipeline/store.py": 1,
    "vyre-driver/src/vyre_driver/tune/speculate.py": 1,  # asked without waiting
    "vyre-foundation/src/vyre_foundation/locks.py": 1,
}
KINDS = {"Lock", "RLock"}


def made(source: str) -> int:
    """How often a module makes a lock of `threading`, or has one made by a field."""
    if not any(kind in source for kind in KINDS):
        return 0
    tree = ast.parse(source)
    guards = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and _name(node.func) == "ForkGuard"]
    given = {argument for call in guards for argument in call.args}
    named = [node for node in ast.walk(tree) if isinstance(node, ast.Call | ast.keyword) and node not in given]
    return sum(_name(node.func if isinstance(node, ast.Call) else node.value) in KINDS for node in named)


def _name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


@pytest.mark.parametrize(
    ("source", "count"),
    [
        ("self._lock = threading.Lock()", 1),
        ("lock: RLock = field(default_factory=RLock)", 1),
        ("self._guard = ForkGuard(threading.RLock)", 0),
        ("guard: ForkGuard = field(default_factory=lambda: ForkGuard(threading.RLock))", 0),
    ],
)
def test_a_lock_is_seen(source: str, count: int) -> None:
    assert made(source) == count


def test_locks_are_free_in_forked_processes(root: Path) -> None:
    packages = root / "packages"
    found = {path.relative_to(packages).as_posix(): made(path.read_text()) for path in packages.glob("*/src/**/*.py")}
    found = {path: count for path, count in found.items() if count}
    assert {path: count for path, count in found.items() if count > ALLOWED.get(path, 0)} == {}, (
        "Fix: take `vyre_foundation.locks.ForkGuard`, or `forks_wait_for` where a library is called under the lock"
    )


def test_locks_are_free_after_interrupts(root: Path) -> None:
    """An error of a signal handler may come between ``lock.acquire()`` and what would release the lock."""
    packages = root / "packages"
    found = {path.relative_to(packages).as_posix(): path.read_text() for path in packages.glob("*/src/**/*.py")}
    taking = {path for path, source in found.items() if re.search(r"lock\.acquire\(", source)}
    assert taking == set(), "Fix: write `with lock:`, or take `vyre_foundation.locks.acquire_into`"


def test_properties_have_no_locks(root: Path) -> None:
    """`vyre_foundation.cached` has the one that takes no lock."""
    files = set(root.glob("packages/*/src/**/*.py")) - set(root.glob("packages/vyre-conform/**/*.py"))
    found = {path.name for path in files if re.search(r"from functools import .*cached_property", path.read_text())}
    assert found == {"cached.py"}
