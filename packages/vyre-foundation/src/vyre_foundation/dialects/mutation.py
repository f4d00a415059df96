"""How much a change of a program may change, and so what has to be shown before it is taken."""

from __future__ import annotations

from enum import Enum


class MutationClass(Enum):
    """From harmless changes to those that need consent."""

    COSMETIC = "cosmetic"
    """Names alone: both programs have one fingerprint, and two ops expand to one expression."""
    STRUCTURAL = "structural"
    """Another program with the same bytes for all inputs: the optimizer, and most migrations. Evaluators compare."""
    SEMANTIC = "semantic"
    """Other bytes: never taken unless asked for."""
    LOWERING = "lowering"
    """The same meaning in the words of one target: laws and random programs prove it on that target."""

    @property
    def changes_results(self) -> bool:
        """Whether outputs may differ."""
        return self is MutationClass.SEMANTIC
