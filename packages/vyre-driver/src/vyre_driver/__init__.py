"""The backend contract of vyre: registry, launch planning, legalization, pipelines, policies, scheduling."""

__version__ = "0.1.0"
