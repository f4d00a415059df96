"""Settings of all tests."""

try:
    from hypothesis import HealthCheck, settings
except ImportError:  # environments that look at the sources alone
    pass
else:
    # A busy machine is no finding: tests assert nothing about time.
    settings.register_profile("vyre", deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.load_profile("vyre")
