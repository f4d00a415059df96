"""Calls that look like the one before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from vyre_driver.backend.results import Inputs, OutputBuffers, is_plain
from vyre_driver.engine.kept import Kept
from vyre_driver.engine.prepared import Prepared
from vyre_driver.plan.indirect import find_indirect_dispatch

if TYPE_CHECKING:
    from vyre_driver.backend.typed import Array


PLAIN = frozenset("?bBhHiIlLqQefd")
"""Types of NumPy that the buffer protocol has letters for."""


class Recent:
    """The last dispatch of a program: a call that looks the same needs no checks but these, and no key.

    Only for calls without a timeout, with inputs that have elements, and a grid that does not come with them.
    """

    __slots__ = ("config", "kept", "names", "output_bytes", "output_sizes", "sizes", "types")

    def __init__(self, kept: Kept) -> None:
        program = kept.request.program
        self.kept, self.config = kept, kept.request.config
        self.sizes = kept.request.shape.byte_lengths
        self.types = [(b.name, np.dtype(b.dtype.numpy), n) for b, n in zip(program.inputs, self.sizes, strict=True)]
        self.output_sizes = [layout.size for layout in kept.plan.outputs]
        self.output_bytes = sum(self.output_sizes)
        self.names = [buffer.name for buffer in program.outputs]

    @staticmethod
    def fits(kept: Kept) -> bool:
        """Whether such calls exist for what was kept."""
        request = kept.request
        comes_with_inputs = find_indirect_dispatch(request.program) is not None
        return request.deadline is None and 0 not in request.shape.byte_lengths and not comes_with_inputs

    def views(self, inputs: Inputs) -> list[memoryview | Array] | None:
        """The inputs as contiguous buffers, or None if anything about them is new."""
        if len(inputs) != len(self.sizes):
            return None
        views: list[memoryview | Array] = []
        for given, size in zip(inputs, self.sizes, strict=True):
            if type(given) is np.ndarray:
                if given.nbytes != size or not given.flags.c_contiguous or given.dtype.hasobject:
                    return None
                views.append(given)
                continue
            try:
                view = memoryview(given)  # type: ignore[arg-type]
            except (TypeError, ValueError):
                return None
            if view.nbytes != size or not view.c_contiguous or not is_plain(view):
                return None
            views.append(view if view.format == "B" and view.ndim == 1 else view.cast("B"))
        return views

    def targets(self, inputs: Sequence[memoryview | Array], slots: OutputBuffers) -> list[memoryview] | None:
        """`slots` as memory for the outputs; None unless all are arrays that fit, apart from `inputs` and each other.

        `inputs` are what `views` gave.
        """
        launch = self.kept.launch
        if len(slots) != len(self.output_sizes) or not isinstance(launch, Prepared) or launch.traps is not None:
            return None
        taken: list[Array] = [
            given if type(given) is np.ndarray else np.frombuffer(given, np.uint8) for given in inputs
        ]
        found = []
        for slot, size in zip(slots, self.output_sizes, strict=True):
            if type(slot) is not np.ndarray or slot.nbytes != size or not size or not slot.flags.carray:
                return None
            if slot.dtype.char not in PLAIN or any(np.may_share_memory(slot, other) for other in taken):
                return None
            taken.append(slot)
            found.append(slot.data if slot.dtype.char == "B" and slot.ndim == 1 else slot.data.cast("B"))
        return found

    def arrays(self, arrays: Mapping[str, object]) -> list[Array] | None:
        """The same for arrays by name."""
        if len(arrays) != len(self.types):
            return None
        given = []
        for name, dtype, size in self.types:
            array = arrays.get(name)
            if type(array) is not np.ndarray or array.dtype is not dtype or array.nbytes != size:
                return None
            if not array.flags.c_contiguous:
                return None
            given.append(array)
        return given
