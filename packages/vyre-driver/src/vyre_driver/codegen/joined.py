"""Several programs as one unit of a compiler that takes long to start."""

from __future__ import annotations

from collections.abc import Sequence

from vyre_driver.legalization.lowered import Lowered


def joined(parts: Sequence[Lowered]) -> Lowered:
    """The kernels of all `parts` in order, to be printed: how they are launched stays with the parts."""
    return Lowered(
        source=parts[0].source,
        kernels=tuple(kernel for part in parts for kernel in part.kernels),
        schedule=(),
        buffers={},
        texts={form: text for part in parts for form, text in part.texts.items()},
        functions={form: function for part in parts for form, function in part.functions.items()},
    )
