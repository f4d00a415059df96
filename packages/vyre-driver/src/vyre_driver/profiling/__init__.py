"""Profiles and explanations: the verdicts about a dispatch, and its times relative to the limits of the device."""

SECONDS = 0.5
"""How long a profile runs by default, after its first runs."""
