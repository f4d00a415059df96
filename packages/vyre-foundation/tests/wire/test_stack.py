"""What a stack machine does, found for all tokens at once, beside a stack that does it token by token."""

from random import Random

import numpy as np
import pytest

from vyre_foundation import decode, encode
from vyre_foundation.ir.code import code
from vyre_foundation.ir.walk import expressions, statements
from vyre_foundation.testing.structural import structural_program
from vyre_foundation.wire import Malformed
from vyre_foundation.wire.stack import Stack

REUSE = -1


def random_code(random: Random, size: int) -> tuple[list[int], list[int]]:
    """How many operands each token pops, with `REUSE` for a token that pushes what was made, and how long ago."""
    arities: list[int] = []
    back: list[int] = []
    height = made = 0
    for _ in range(size):
        arity = random.choice([n for n in (REUSE, REUSE, 0, 0, 1, 2, 2, 3, 5) if n <= height and (made or n >= 0)])
        if arity == REUSE:
            back.append(random.randint(1, made))
        arities.append(arity)
        height += 1 - max(arity, 0)
        made += arity != REUSE
    return arities, back


def stack_of(arities: list[int], back: list[int]) -> Stack:
    reused = np.flatnonzero(np.array(arities, np.int64) == REUSE)
    return Stack(100, np.maximum(np.array(arities, np.int64), 0), reused, np.array(back, np.uint64))


def run(arities: list[int], back: list[int]) -> tuple[list[list[int]], list[int]]:
    """The operands of everything that is made, and what is on the stack in the end, as numbers."""
    stack: list[int] = []
    operands: list[list[int]] = []
    ago = iter(back)
    for arity in arities:
        if arity == REUSE:
            stack.append(len(operands) - next(ago))
            continue
        cut = len(stack) - arity
        operands.append(stack[cut:])
        stack[cut:] = [len(operands) - 1]
    return operands, stack


@pytest.mark.parametrize("seed", range(40))
def test_as_a_stack_does_it_token_by_token(seed: int) -> None:
    arities, back = random_code(Random(seed), seed * 3)
    operands, left = run(arities, back)
    stack = stack_of(arities, back)
    assert len(stack.makes) == len(operands)
    first, last = stack.first_operands.tolist(), stack.last_operands.tolist()
    inner = iter(stack.inner_operands.tolist())
    for number, expected in enumerate(operands):
        if len(expected) > 0:
            assert first[number] == expected[0]
        if len(expected) > 1:
            assert [next(inner) for _ in expected[1:-1]] == expected[1:-1]
            assert last[number] == expected[-1]
    assert next(inner, None) is None
    assert stack.pushes[stack.roots].tolist() == left


@pytest.mark.parametrize(
    ("arities", "back", "offset"),
    [
        ([1], [], 100),
        ([0, 2], [], 101),
        ([0, 0, 2, 2], [], 103),
        ([0, REUSE], [2], 101),
        ([REUSE], [1], 100),
        ([0, 0, 2**40, 2], [], 102),
        ([0, REUSE, 3], [2**64 - 1], 101),
    ],
)
def test_the_first_token_that_takes_what_is_not_there(arities: list[int], back: list[int], offset: int) -> None:
    with pytest.raises(Malformed) as error:
        stack_of(arities, back)
    assert error.value.offset == offset


@pytest.mark.parametrize("seed", range(12))
def test_a_decoded_program_knows_its_code(seed: int) -> None:
    program = decode(encode(structural_program(Random(seed), 30)))
    known = vars(program)["code"]
    found = code(root for stmt in statements(program.body) for root in expressions(stmt))
    assert known.nodes == found.nodes
    assert known.pushes.tolist() == found.pushes.tolist()
    assert known.ends == found.ends
