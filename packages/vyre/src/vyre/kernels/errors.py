"""The errors of kernels: they point at a place in the user's source."""

from __future__ import annotations

from vyre_foundation.errors import BuildError


class KernelError(BuildError):
    """A kernel cannot be compiled to a program. The error shows the source line and marks the place.

    `where` is ``file:line:column``; the fields `line` and `caret` are the line of the source and its marking.
    """

    def __str__(self) -> str:
        line, caret = self.fields.get("line", ""), self.fields.get("caret", "")
        shown = f"\n{line}\n{caret}\n" if line else ". "
        return f"{self.where}: {self.message}{shown}Fix: {self.fix}"
