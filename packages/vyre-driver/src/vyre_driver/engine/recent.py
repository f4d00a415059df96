"""Calls that look like the one before."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from vyre_driver.backend.results import Inputs, is_plain
from vyre_driver.engine.kept import Kept
from vyre_driver.plan.indirect import find_indirect_dispatch

if TYPE_CHECKING:
    from vyre_driver.backend.typed import Array


class Recent:
    """The last dispatch of a program: a call that looks the same needs no checks but these, and no key.

    Only for calls without a timeout, with inputs that have elements, and a grid that does not come with them.
    """

    __slots__ = ("config", "kept", "names", "output_bytes", "sizes", "types")

    def __init__(self, kept: Kept) -> None:
        program = kept.request.program
        self.kept, self.config = kept, kept.request.config
        self.sizes = kept.request.shape.byte_lengths
        self.types = [(b.name, np.dtype(b.dtype.numpy), n) for b, n in zip(program.inputs, self.sizes, strict=True)]
        self.output_bytes = sum(layout.size for layout in kept.plan.outputs)
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
