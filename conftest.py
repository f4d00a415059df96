"""Tests of the workspace leave the user's cache alone: nothing is kept between processes unless a test asks for it.

And they can be interrupted, however they were started: a shell's background job has interrupts switched off.
"""

import os
import signal

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
