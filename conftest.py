"""Tests of the workspace leave the user's cache alone: nothing is kept between processes unless a test asks for it.

And they can be interrupted, however they were started: a shell's background job has interrupts switched off.
A test marked with `backend(id)`, or with a parameter `backend`, is skipped where that backend is not available.
"""

import os
import signal

import pytest

OPTIONAL_BACKENDS = ("opencl", "opencl-gpu", "opencl-intel", "cuda")
"""Those that need a runtime or a device which a machine may lack."""

os.environ["VYRE_CACHE"] = "off"
signal.signal(signal.SIGINT, signal.default_int_handler)

try:
    from hypothesis import HealthCheck, settings
except ImportError:  # environments that look at the sources alone
    pass
else:
    # A busy machine is no finding: tests assert nothing about time.
    settings.register_profile("vyre", deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.load_profile("vyre")


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
