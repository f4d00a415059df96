"""Threads that import packages of vyre for the first time, at once, get all of them."""

import random
import subprocess
import sys

import pytest

PACKAGES = [
    "vyre",
    "vyre_algorithms",
    "vyre_driver",
    "vyre_driver_cpu",
    "vyre_foundation",
    "vyre_math",
    "vyre_reference",
]
SCRIPT = """
import collections.abc  # Python gives a package its module after other threads can see that
import importlib, sys, threading
sys.setswitchinterval(1e-6)
start, failed = threading.Barrier(len(sys.argv) - 1), []
def load(name):
    start.wait()
    try:
        importlib.import_module(name)
    except Exception as error:
        failed.append(repr(error))
threads = [threading.Thread(target=load, args=(name,)) for name in sys.argv[1:]]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
sys.exit("\\n".join(failed) or 0)
"""


@pytest.mark.parametrize("seed", range(4))
def test_threads_import_packages_at_once(seed: int) -> None:
    names = random.Random(seed).sample(PACKAGES, len(PACKAGES))
    result = subprocess.run([sys.executable, "-c", SCRIPT, *names], capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stderr
