"""Atomics in memory of a call's own: the same bits, and only where nothing can tell the difference."""

import numpy as np
import pytest

from vyre_driver.backend.config import DispatchConfig
from vyre_driver.engine.lowering import lowered_for
from vyre_driver_cpu.ahead import assembly_ahead, source_ahead
from vyre_driver_cpu.dialect import target_of
from vyre_driver_cpu.loops import COPIES
from vyre_driver_cpu.privatization import MOST_BYTES, privatized
from vyre_driver_cpu.spelling import spellings
from vyre_foundation.ir.program import Program
from vyre_foundation.text import parse
from vyre_foundation.validate import validate

OPS = "add and or xor min max".split()
MOST = MOST_BYTES // 4
"""Words of a buffer."""
SIZE = 5000
"""Invocations: the last workgroup of 64 is not whole."""
WHOLE = DispatchConfig(grid_override=(79, 1, 1))


def _program(atomics: str, *, t: str = "u32", count: str = "8", access: str = "read_write") -> Program:
    return parse(f"""\
program p workgroup(64, 1, 1) {{
  read x: u32[] @0;
  {access} a: {t}[{count}] @1;
  read_write b: {t}[{count}] @2;
  let i = global_id.x;
  if i < len(x) {{ {atomics} }}
}}
""")


def _private(program: Program) -> set[str]:
    (kernel,) = lowered_for(target_of("cpu", spellings(has_half=True)), validate(program)).kernels
    return {buffer.name for buffer in privatized(kernel)}


def _words(size: int) -> "np.ndarray[tuple[int], np.dtype[np.uint32]]":
    return np.random.default_rng(3).integers(0, 2**32, size, np.uint32)


@pytest.mark.parametrize("t", ["u32", "i32", "u64", "i64"])
@pytest.mark.parametrize("op", OPS)
def test_each_op_on_each_type(op: str, t: str, agree) -> None:
    """The buffers begin with values of their own, which take part; one element of a buffer is never changed."""
    wide = "x[i]" if t.endswith("32") else "u64(x[i]) * 11400714819323198485"
    value = wide if t.startswith("u") else f"bitcast<{t}>({wide})"
    program = _program(f"atomic {op}(a[x[i] % 7], {value}); atomic {op}(b[0], {value});", t=t)
    assert _private(program) == {"a", "b"}
    start = _words(16).view({"u32": "u4", "i32": "i4", "u64": "u8", "i64": "i8"}[t])[:8]
    agree(program, [_words(SIZE), start, start], WHOLE)


@pytest.mark.parametrize("size", [1, 63, 64, SIZE])
@pytest.mark.parametrize("length", [0, 1, 100, MOST // COPIES, MOST // COPIES + 1, MOST, MOST + 1])
def test_lengths_that_the_call_decides_by(length: int, size: int, agree) -> None:
    """Buffers with fewer elements than the call has invocations, with more, and with too many."""
    program = _program("atomic add(a[x[i] & 4095], 1); atomic max(b[x[i] % 3], i);", count="")
    assert _private(program) == {"a", "b"}
    start = np.arange(length, dtype=np.uint32)
    agree(program, [_words(size), start, start], WHOLE)


@pytest.mark.parametrize(
    ("atomics", "private"),
    [
        ("atomic add(a[0], i); atomic add(a[1], 1);", {"a"}),
        ("let old = atomic add(a[0], 1); b[i & 7] = old;", set()),
        ("atomic add(a[0], i); atomic xor(a[1], 1);", set()),
        ("atomic exchange(a[0], 5);", set()),
        ("atomic add(a[0], b[i & 7]); atomic add(b[1], 0);", {"a"}),
        ("atomic add(a[0], 1); if i == 9 { a[7] = 3; }", set()),
    ],
)
def test_what_could_tell_the_difference_stays(atomics: str, private: set[str]) -> None:
    """A result that is used, another operation, a load or a store of the same buffer."""
    assert _private(_program(atomics)) == private


def test_traps_stay(agree) -> None:
    program = _program('if x[i] > 4294000000 { trap(7, "seven"); } atomic add(a[x[i] & 7], 1);')
    assert _private(program) == {"a"}
    agree(program, [_words(SIZE) >> 1, np.zeros(8, np.uint32), np.zeros(8, np.uint32)], WHOLE)
    agree(program, [_words(SIZE), np.zeros(8, np.uint32), np.zeros(8, np.uint32)], WHOLE)


def test_atomics_of_the_lanes_of_a_vector(agree) -> None:
    loop = "var s = x[i]; for k in 0..9 { if s & 15 == k { break; } s = s * 5 + k; }"
    program = _program(f"{loop} if s & 1 == 0 {{ atomic add(a[s & 7], s); }} atomic or(b[3], s);")
    agree(program, [_words(SIZE), np.zeros(8, np.uint32), np.zeros(8, np.uint32)], WHOLE)


def test_iterations_of_a_short_loop_use_copies_in_turns() -> None:
    """They are unrolled, so that the number of the copy is known in each, and an addition waits for no store."""
    program = _program("atomic add(a[x[i] & 7], 1);")
    assert source_ahead("host", program, WHOLE).count(b"%stride0") > 1
    copies = assembly_ahead("x86-64-v3", program, WHOLE).count(b"incl\t")
    assert copies >= COPIES


def test_several_dispatches_add_up(backend) -> None:
    program = _program("atomic add(a[x[i] & 7], 1); atomic add(b[i & 7], 2);")
    a = b = np.zeros(8, np.uint32)
    for _ in range(3):
        a, b = (np.frombuffer(out, np.uint32) for out in backend.dispatch(program, [_words(SIZE), a, b], WHOLE))
    assert np.array_equal(a, 3 * np.bincount(_words(SIZE) & 7, minlength=8))
    assert b.sum() == 3 * 2 * SIZE
