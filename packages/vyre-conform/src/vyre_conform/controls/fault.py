"""What a planted fault is: a row that says what is wrong, in which layer, and how a backend gets that way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import reduce
from importlib import import_module
from typing import Any

from vyre_driver.backend.contract import VyreBackend


class Layer(Enum):
    """Where the fault is."""

    COMPILER = "compiler"
    """What an op, an access or a statement becomes."""
    OPTIMIZER = "optimizer"
    LOWERING = "lowering"
    EMITTER = "emitter"
    PLANNER = "planner"
    CACHE = "cache"
    ENGINE = "engine"
    DEVICE = "device"
    HOST = "host"
    """What the caller's side launches, reads back and reports."""


@dataclass(frozen=True, slots=True)
class Plant:
    """How a fault is planted.

    `begin` makes a backend that is right but for it, and may change the modules of its process, which must be its own.
    `right` names the backend that it would be without (see `RIGHT` in `mutants`).
    """

    begin: Callable[[], VyreBackend]
    right: str
    where: str = ""
    """What is replaced in the process, as ``module:name``; "" for none."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault.

    `near` are queries for the cases that are likely to find it; all others are tried after them. `seconds` are the
    patience with one launch.
    """

    layer: Layer
    id: str
    summary: str
    plant: Plant
    near: str = "*"
    seconds: float = 30.0

    @property
    def backend(self) -> str:
        """What the worker of this backend is asked for, and ``vyre-conform run --backend`` as well."""
        return worker_id(self.id)


def worker_id(name: str) -> str:
    """What finds a planted fault, or one of the right backends, in the registry of workers."""
    return f"vyre_conform.controls.mutants:{name}"


def found(where: str) -> tuple[Any, str]:
    """The module or class that has what `where` names, and the name in it."""
    module, _, path = where.partition(":")
    *owners, name = path.split(".")
    return reduce(getattr, owners, import_module(module)), name
