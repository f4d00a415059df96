"""Tests of the workspace leave the user's cache alone: nothing is kept between processes unless a test asks for it.

And they can be interrupted, however they were started: a shell's background job has interrupts switched off.
Where tests are about what programs compute, LLVM does not optimize them, unless `--optimized` asks for it.
A test marked with `backend(id)`, or with a parameter `backend`, is skipped where that backend is not available.
Where tests have parameters beside `backend`, their values take the backends in turns; `-m slow` has the other pairs.
"""

import os
import signal
from collections import defaultdict
from collections.abc import Iterator
from functools import partial

import pytest

OPTIONAL_BACKENDS = ("opencl", "opencl-gpu", "opencl-intel", "cuda")
"""Those that need a runtime or a device which a machine may lack."""

COMPUTED = (
    "packages/vyre-algorithms/",
    "packages/vyre-distributed/",
    "packages/vyre-driver-cpu/tests/test_planted_faults.py",
    "packages/vyre-driver-cpu/tests/test_races.py",
    "packages/vyre/",
    "tests/benchmarks/test_written.py",
    "tests/docs/",
    "tests/examples/",
)
"""Where tests are about what programs compute. Others of the backend, and conformance, judge its machine code, too."""
OPTIMIZED = ("packages/vyre-algorithms/tests/test_digests.py", "packages/vyre/tests/test_random_images.py")
"""Where one program of each algorithm, and random kernels over images, are as users have them."""

IN_TURNS = ("packages/vyre-algorithms/", "packages/vyre/tests/test_arrays.py", "packages/vyre/tests/test_structs.py")
"""Where each value of the parameters of a test takes one backend."""

os.environ["VYRE_CACHE"] = "off"
signal.signal(signal.SIGINT, signal.default_int_handler)

try:
    from hypothesis import HealthCheck, settings
except ImportError:  # environments that look at the sources alone
    pass
else:
    # A busy machine is no finding: tests assert nothing about time.
    few = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.register_profile("vyre", few)
    settings.register_profile("many", few, max_examples=400)
    settings.load_profile("vyre")


def pytest_addoption(parser: pytest.Parser) -> None:
    """How programs for the CPU are compiled."""
    parser.addoption("--optimized", action="store_true", help="let LLVM optimize the programs of all tests")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as slow what the product of backends and other parameters has beside a selection with all of either."""
    rows: defaultdict[str, defaultdict[tuple[int, ...], list[pytest.Item]]] = defaultdict(lambda: defaultdict(list))
    for item in items:
        params = item.callspec.params if hasattr(item, "callspec") else {}
        if "backend" in params and item.nodeid.startswith(IN_TURNS) and not item.get_closest_marker("slow"):
            others = tuple(id(value) for name, value in params.items() if name != "backend")
            rows[item.nodeid.partition("[")[0]][others].append(item)
    for of_test in rows.values():
        if len(of_test) < max(map(len, of_test.values())):
            continue  # some backend would have no turn
        for number, pairs in enumerate(of_test.values()):
            for place, item in enumerate(pairs):
                if place != number % len(pairs):
                    item.add_marker(pytest.mark.slow)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test whose backend cannot run here, with the reason that the backend gives."""
    wanted = [mark.args[0] for mark in item.iter_markers("backend")]
    if (call := getattr(item, "callspec", None)) is not None and call.params.get("backend") in OPTIONAL_BACKENDS:
        wanted.append(call.params["backend"])
    if wanted:
        from vyre_driver.registry.backends import availability

        for backend in wanted:
            if not (found := availability(backend)).is_available:
                pytest.skip(f"{backend}: {found.reason}")


@pytest.fixture(scope="module", autouse=True)
def _optimizing(request: pytest.FixtureRequest) -> Iterator[None]:
    """LLVM's optimizer takes two thirds of the time of a compilation: here most programs run once, on few elements."""
    module = request.node.nodeid
    if not module.startswith(COMPUTED) or module in OPTIMIZED or request.config.getoption("optimized", False):
        yield
        return
    from vyre_driver_cpu import port
    from vyre_driver_cpu.compiler import compile_text

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(port, "compile_text", partial(compile_text, level=0))
        yield
