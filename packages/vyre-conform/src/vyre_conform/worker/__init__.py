"""Backends in processes of their own, so that what kills one of them kills nothing else."""

from vyre_conform.worker.client import Cancelled, Worker
from vyre_conform.worker.fork_servers import ForkServers
from vyre_conform.worker.opening import NamedBy
from vyre_conform.worker.protocol import Hello

__all__ = ["Cancelled", "ForkServers", "Hello", "NamedBy", "Worker"]
