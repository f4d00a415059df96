"""Backends in processes of their own, so that what kills one of them kills nothing else."""

from vyre_conform.worker.client import Worker
from vyre_conform.worker.protocol import Hello

__all__ = ["Hello", "Worker"]
