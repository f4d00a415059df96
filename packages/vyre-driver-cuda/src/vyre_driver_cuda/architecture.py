"""The architectures that code is made for."""

from __future__ import annotations

import re
from dataclasses import dataclass

from vyre_driver.errors import BackendUnavailable

OLDEST = (7, 0)
"""From here on the lanes of a warp have a program counter each, which collectives with a mask take for granted."""
_NAME = re.compile(r"(?:sm_|compute_)?(\d+)(\d)([af]?)")


@dataclass(frozen=True, slots=True, order=True)
class Architecture:
    """A compute capability, such as 9.0.

    `suffix` is "a" for code that no other architecture runs, or "f" for code that those of a family run.
    """

    major: int
    minor: int
    suffix: str = ""

    @classmethod
    def parse(cls, name: str) -> Architecture:
        """``sm_90``, ``90``, ``sm_90a`` … Too old ones and other words are refused."""
        match = _NAME.fullmatch(name.strip().casefold())
        found = cls(int(match[1]), int(match[2]), match[3]) if match else None
        if found is None or (found.major, found.minor) < OLDEST:
            reason = f"{name!r} names no architecture that code is made for"
            fix = f"name one as in sm_90, from sm_{OLDEST[0]}{OLDEST[1]} on"
            raise BackendUnavailable("cuda", reason, fix=fix)
        return found

    def runs_on(self, gpu: Architecture) -> bool:
        """Whether a GPU executes machine code for this architecture.

        It does if it has the same major number and is not older; with a suffix, only the very same one does.
        """
        if self.suffix == "a":
            return (self.major, self.minor) == (gpu.major, gpu.minor)
        return self.major == gpu.major and self.minor <= gpu.minor

    @property
    def has_bf16(self) -> bool:
        """Sums and products of bf16, and conversions, are instructions."""
        return self.major >= 8

    @property
    def has_reductions(self) -> bool:
        """There are instructions that fold the integers of a warp."""
        return self.major >= 8

    def __str__(self) -> str:
        return f"sm_{self.major}{self.minor}{self.suffix}"
