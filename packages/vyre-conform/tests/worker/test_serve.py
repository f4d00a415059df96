"""What the process of a worker imports. Conformance starts many of them, and imports are most of their time."""

import subprocess
import sys

OTHERS = """
    argparse hypothesis psutil rich unittest vyre_algorithms vyre_conform.cases vyre_conform.cli vyre_conform.judge
    vyre_conform.oracle vyre_conform.proving vyre_conform.run vyre_conform.suite vyre_conform.worker.claims
    vyre_conform.worker.client vyre_driver.codegen vyre_driver.schedule vyre_driver.vectorization vyre_reference.scalar
    vyre_reference.vector
""".split()
"""What the parent of a worker needs, or a backend, or a check of what one says of itself."""
MOST = 236
"""Modules of vyre. It may be raised for modules that every worker uses."""


def test_a_worker_imports_nothing_of_its_parent() -> None:
    code = "import sys, vyre_conform.worker.serve; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    modules = done.stdout.split()
    assert not [name for name in modules for other in OTHERS if name == other or name.startswith(f"{other}.")]
    assert len([name for name in modules if name.startswith("vyre")]) <= MOST
