"""May this program run on a backend? What is missing is said all at once, and nothing is compiled to find out."""

from __future__ import annotations

from collections.abc import Iterator

from vyre_driver.backend.config import DEFAULT_CONFIG, DispatchConfig
from vyre_driver.backend.contract import VyreBackend
from vyre_driver.errors import UnsupportedFeature
from vyre_driver.plan.launch import validated, with_workgroup_size
from vyre_driver.plan.limits import exceeded_geometry
from vyre_foundation import dialect
from vyre_foundation.ir.expr import Apply, Call, Expr
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.walk import postorder, program_expressions
from vyre_foundation.ops import Tier
from vyre_foundation.validate.facts import Facts


def validate_program_for_backend(
    backend: VyreBackend, program: Program, config: DispatchConfig = DEFAULT_CONFIG
) -> Facts:
    """The facts of a program that `backend` can run with this configuration, as far as its own queries tell.

    `InvalidProgram` with every finding; `UnsupportedFeature` with every op that it does not execute, also in what calls
    expand to, and every limit of geometry that the workgroup or an overridden grid exceeds.
    """
    facts = validated(with_workgroup_size(program, config.workgroup_override))
    missing = [f"the op {id}" for id in sorted(used_ops(facts.program) - backend.supported_ops())]
    grid = config.grid_override or (1, 1, 1)
    missing += exceeded_geometry(facts.program, grid, backend.device_profile())
    if missing:
        raise UnsupportedFeature("; ".join(missing), backend=backend.id())
    return facts


def used_ops(program: Program) -> frozenset[str]:
    """The ids of all ops of the language in a program's expressions, and in the compositions of its calls."""
    memo: dict[Expr, Expr] = {}

    def found() -> Iterator[str]:
        for node in program_expressions(program):
            if isinstance(node, Call):
                yield from (n.op.id for n in postorder((dialect.expand(node, memo),)) if isinstance(n, Apply))
            elif isinstance(node, Apply) and node.op.tier is Tier.LANGUAGE:
                yield node.op.id

    return frozenset(found())
