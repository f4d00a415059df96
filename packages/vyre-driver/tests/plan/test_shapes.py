"""Which dispatches look alike."""

from typing import Any

import numpy as np
import pytest

from vyre_driver.backend.config import DispatchConfig, Preference
from vyre_driver.compat import resolve_fixpoint_iterations_usize
from vyre_driver.plan.shapes import (
    borrowed_input_batch_shapes_match,
    borrowed_input_shapes_match,
    dispatch_configs_share_launch_shape,
    program_vsa_fingerprint,
    program_vsa_fingerprint_words,
    resolve_fixpoint_iterations,
)
from vyre_foundation.text import parse

EIGHT, OTHER, NINE = b"8bytes!!", np.zeros(2, np.float32), bytearray(9)


@pytest.mark.parametrize(
    ("first", "second", "match"),
    [((), (), True), ((EIGHT,), (OTHER,), True), ((EIGHT,), (NINE,), False), ((EIGHT,), (EIGHT, b""), False)],
)
def test_inputs_match_by_number_and_bytes(first: Any, second: Any, match: bool) -> None:
    assert borrowed_input_shapes_match(first, second) is match
    assert borrowed_input_batch_shapes_match([first, second]) is match
    assert borrowed_input_batch_shapes_match([first, first, second]) is match


def test_an_empty_batch_matches() -> None:
    assert borrowed_input_batch_shapes_match([])


CHANGES: list[tuple[dict[str, Any], bool]] = [
    ({"label": "x"}, True),
    ({"profile": "y"}, True),
    ({"timeout": 1.0}, True),
    ({"ulp_budget": 1}, False),
    ({"max_output_bytes": 8}, False),
    ({"workgroup_override": (1, 1, 1)}, False),
    ({"grid_override": (1, 1, 1)}, False),
    ({"fixpoint_iterations": 2}, False),
    ({"speculation": Preference.DISABLE}, False),
    ({"persistent_thread": Preference.DISABLE}, False),
    ({"cooperative": True}, False),
]


@pytest.mark.parametrize(("change", "shares"), CHANGES, ids=lambda x: "-".join(x) if isinstance(x, dict) else "")
def test_what_a_launch_depends_on(change: dict[str, Any], shares: bool) -> None:
    assert dispatch_configs_share_launch_shape(DispatchConfig(), DispatchConfig(**change)) is shares


def test_every_field_of_a_configuration_is_judged() -> None:
    assert {name for change, _ in CHANGES for name in change} == set(DispatchConfig.__dataclass_fields__)


def test_iterations() -> None:
    assert resolve_fixpoint_iterations(DispatchConfig()) == 1
    assert resolve_fixpoint_iterations_usize(DispatchConfig(fixpoint_iterations=7)) == 7


def test_a_fingerprint_as_words_has_the_bytes_of_the_fingerprint() -> None:
    program = parse("program p workgroup(1, 1, 1) { write out: u32[4] @0; }")
    words = program_vsa_fingerprint_words(program)
    assert len(words) == 8
    assert b"".join(word.to_bytes(4, "little") for word in words).hex() == program.fingerprint()
    assert program_vsa_fingerprint(program) == list(words)
