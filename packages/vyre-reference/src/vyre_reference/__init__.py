"""The evaluators that define what a vyre program means, and the reference backend."""

__version__ = "0.1.0"
