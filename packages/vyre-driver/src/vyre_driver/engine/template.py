"""A launch over resident memory that is bound to other memory again and again: everything else is decided once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from vyre_driver.engine.allocation import Allocation
from vyre_driver.engine.kept import Kept
from vyre_driver.engine.over_residents import require_places
from vyre_driver.engine.prepared import Prepared
from vyre_driver.engine.request import Request
from vyre_driver.engine.transfer import Copies
from vyre_driver.legalization.lowered import TRAPS


class Template:
    """What launches of one program have in common that differ in their resources alone.

    They follow each other in one queue, so they share scratch memory and loop counters. Each has a record of traps of
    its own, because it says which of them trapped. `holds` counts those who use the template.
    """

    __slots__ = ("_args", "_fills", "_names", "holds", "kept")

    def __init__(self, kept: Kept) -> None:
        self.kept, self.holds = kept, 0
        binding = kept.prepared.binding
        declared = zip(binding.code.executable.declared, binding.plan.program.buffers, strict=True)
        self._names = {ours: theirs.name for ours, theirs in declared if ours in binding.placed}
        if kept.prepared.traps is not None:
            self._names[TRAPS] = TRAPS
        self._args = [
            [(name and self._names.get(name), value) for name, value in _named(entry.buffers, binding.args(entry))]
            for entry in binding.code.executable.entries
        ]
        names = {allocation: self._names.get(name) for name, allocation in binding.allocations.items()}
        assert isinstance(kept.prepared.transfer, Copies)
        self._fills = [(names[fill[0]], fill) for fill in kept.prepared.transfer.fills]

    @property
    def bytes_held(self) -> int:
        """Device memory that all launches of it share."""
        return self.kept.bytes_held

    def over(self, request: Request) -> Prepared:
        """The launch over the resources of a request that has the same shape otherwise."""
        with self.kept.device.counters.timing("bind_ns"):
            return self._over(request)

    def _over(self, request: Request) -> Prepared:
        base, places = self.kept.prepared, request.places
        assert places is not None
        if request.shape.resources == self.kept.request.shape.resources:
            return base
        require_places(self.kept.plan, places)
        device, traps = base.device, None
        if base.traps is not None:
            traps = device.allocate(base.traps.size)
            places = {**places, TRAPS: traps}
        device.counters.prepares += 1
        args = tuple([tuple([_argument(places, name, value) for name, value in entry]) for entry in self._args])
        fills = [(fill if name is None else (places[name], *fill[1:])) for name, fill in self._fills]
        transfer = Copies(device, args, () if traps is None else (traps,), uploads=(), fills=fills, readbacks=())
        return replace(base, transfer=transfer, traps=traps, once=None)


def _named(names: tuple[str, ...], args: tuple[Any, ...]) -> list[tuple[str | None, Any]]:
    """The arguments of a kernel with the names of those that are memory."""
    return [*zip(names, args, strict=False), *((None, length) for length in args[len(names) :])]


def _argument(places: Mapping[str, Allocation], name: str | None, value: Any) -> Any:
    return value if name is None else places[name].memory
