"""Loops over invocations as vectors and masks: exact, and of the shape that they are meant to have."""

import re
from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pytest

from vyre_driver.backend.config import DispatchConfig
from vyre_driver.engine.lowering import lowered_for
from vyre_driver_cpu import vector_loops, vectors
from vyre_driver_cpu.bounds import UpperBounds
from vyre_driver_cpu.chains import MOST
from vyre_driver_cpu.compiler import assembly, optimized
from vyre_driver_cpu.cpu import named
from vyre_driver_cpu.dialect import target_of
from vyre_driver_cpu.jam import BATCH
from vyre_driver_cpu.lanes import VectorLanes
from vyre_driver_cpu.printer import print_module
from vyre_driver_cpu.rows import write_out_rows
from vyre_driver_cpu.spelling import spellings
from vyre_foundation.build import program
from vyre_foundation.dtype import f32, u32, u64
from vyre_foundation.ir.expr import Apply, Cast, Expr, Load, Local, literal
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import For, If, Let
from vyre_foundation.ir.walk import postorder, statements
from vyre_foundation.ops import OPS
from vyre_foundation.testing import EVERYTHING, generate
from vyre_foundation.text import parse
from vyre_foundation.validate import validate

SIZE = 1000
"""Words of each input: the last workgroup of 64 is not whole."""
BODIES = {
    "a loop that lanes leave": """
        var a = x[i]; var n = 0;
        for k in 0..50 { if a > 4000000000 { break; } a = a * 7 + k; n = n + 1; }
        out[i] = a ^ n;""",
    "a loop with another end for each lane": """
        var a = 0;
        for k in 0..x[i] & 31 { a = a * 3 + k; }
        out[i] = a;""",
    "iterations that lanes leave early": """
        var a = x[i];
        for k in 0..40 { if a & 1 == 0 { a = a + 5; continue; } a = a * 3 + k; if a > 3000000000 { break; } a = a ^ 6; }
        out[i] = a;""",
    "loops in loops": """
        var a = x[i];
        for k in 0..9 { for m in 0..20 { if a & 15 == m { break; } a = a * 5 + m; }
          if a & 7 == k { continue; } a = a + 1; }
        out[i] = a;""",
    "a jump in a branch in a branch": """
        var a = x[i];
        for k in 0..40 { if a & 1 == 0 { if a & 2 == 0 { a = a + 5; continue; } a = a * 3 + k; } a = a ^ 6; }
        out[i] = a;""",
    "a loop left in a branch in a branch": """
        var a = x[i];
        for k in 0..40 { if a & 1 == 0 { if a & 6 == 0 { a = a + 5; break; } a = a * 3 + k; } a = a * 5 + 1; }
        out[i] = a;""",
    "a return in a branch in a branch": """
        var a = x[i];
        for k in 0..40 { a = a * 7 + k; if a & 12 == 0 { if a & 64 == 0 { return; } a = a + 9; } }
        out[i] = a;""",
    "a division that only some lanes may do": """
        var a = x[i];
        for k in 0..400 { let d = a & 3; if d != 0 { a = a / d + k; } else { a = a + 9; } }
        out[i] = a;""",
    "loads of lanes that stay": """
        var a = i;
        for k in 0..30 { if a > 990 { break; } a = a + (x[a] & 63); }
        out[i] = a;""",
    "a gather out of bounds": """
        var a = i;
        for k in 0..400 { a = x[(a + k) * 5 & 2047] + a; }
        out[i] = a;""",
    "a branch with stores": """
        var a = x[i];
        for k in 0..400 { a = a * 7 + k; if a & 4 == 0 { out[i] = a; } }""",
}  # fmt: skip
ROWS = {
    "rows of four": (
        4,
        12,
        [(1, "x[i * 12] + x[i * 12 + 2]"), (0, "x[i * 12 + 1]"), (3, "x[i * 12 + 3] ^ 1"), (2, "5")],
    ),
    "rows of eight": (8, 8, [(n, f"x[i * 8 + {(n + 3) % 8}] * {n + 2}") for n in range(8)]),
    "rows of sixteen": (8, 16, [(n, f"x[i * 16 + {n * 3 % 16}] + {n}") for n in range(16)]),
    "rows of sixteen, and much to compute": (
        16,
        16,
        [
            (n, "(" * 30 + f"x[i * 16 + {n * 3 % 16}]" + "".join(f" * 3 + {n + m})" for m in range(30)))
            for n in range(16)
        ],
    ),
}
"""Elements that are loaded at once, elements from row to row, and what is stored to each place."""


EDGES = (0, 1, 5, 8, 15, 16, 17, 31)
"""Elements that fill no vector, one or two, and one more or less."""


def slow(seeds: Iterable[int]) -> list[object]:
    return [pytest.param(seed, marks=pytest.mark.slow) for seed in seeds]


def _program(body: str, count: str = "len(x)") -> Program:
    guarded = f"if i < {count} {{ {body} }}"
    return parse(f"""\
program p workgroup(64, 1, 1) {{
  read x: u32[] @0;
  write out: u32[len(x)] @1;
  let i = global_id.x;
  {guarded}
}}
""")


def _text(program: Program, bits: int = 512, *, gathers: bool = False) -> str:
    words = spellings(has_half=True, vector_bits=bits, gathers=gathers)
    text, _ = print_module(lowered_for(target_of("cpu", words), validate(program)), words)
    return text


def _loads_one_by_one(text: str) -> bool:
    """Whether a vector is made of elements that are loaded one by one, as at any indices."""
    return re.search(r"insertelement <\d+ x i32> \S+, i32 \S+, i64 [1-9]", text) is not None


def _scatters(text: str) -> bool:
    """Whether there is a scatter that is not for the last lanes of a loop alone."""
    return re.search(r"masked\.scatter.*splat \(i1 true\)", text) is not None


def _words(size: int = SIZE) -> "np.ndarray[tuple[int], np.dtype[np.uint32]]":
    return np.random.default_rng(7).integers(0, 2**32, size, np.uint32)


LIMITED = """
    var a = x[i]; var n = 0;
    for k in 0..51 {
      if (a & 15) == 3 { break; }
      if k == LIMIT { trap(9, "nine"); }
      a = a * 5 + 1; n = n + 1;
    }
    out[i] = a ^ n;"""
"""A loop that ends, or else traps, as `while` loops of kernels do."""


@pytest.mark.parametrize("limit", [50, 3])
def test_lanes_leave_a_loop_with_a_trap(limit: int, agree) -> None:
    program = _program(LIMITED.replace("LIMIT", str(limit)))
    assert "x i1>" in _text(program)
    agree(program, [_words()], DispatchConfig(grid_override=(16, 1, 1)))


@pytest.mark.parametrize(("divisor", "is_vector"), [("(a & 7) + 1", False), ("x[0]", False), ("7", True)])
def test_lanes_that_leave_a_loop_divide_one_by_one(divisor: str, is_vector: bool, agree) -> None:
    """Vectors have no division of integers: lanes that have left would wait for divisions of the others."""
    program = _program(f"var a = x[i]; for k in 0..50 {{ if a < 9 {{ break; }} a = a - a / ({divisor}); }} out[i] = a;")
    assert ("alloca <" in _text(program)) == is_vector
    agree(program, [_words() | 1], DispatchConfig(grid_override=(16, 1, 1)))


SMALL = {
    "a lookup": ("t[x[i] & 255]", False),
    "a guarded lookup": ("t[x[i]]", False),
    "an index that is computed": ("t[u32(f32(i) * 1.5) + u32(f32(i) * 0.25)] + t[u32(f32(x[i] & 255) * 1.5)]", True),
}
"""Loads of bytes, and whether they are made to vectors."""


@pytest.mark.parametrize("size", [0, 1, 300])
@pytest.mark.parametrize("name", SMALL)
def test_bytes_at_computed_indices(name: str, size: int, agree) -> None:
    """Nothing gathers them. Where vectors are worth it, lanes out of bounds load another element."""
    value, is_vector = SMALL[name]
    program = parse(f"""\
program p workgroup(64, 1, 1) {{
  read t: u8[] @0;
  read x: u32[] @1;
  write out: u8[len(x)] @2;
  let i = global_id.x;
  if i < len(x) {{ out[i] = {value}; }}
}}
""")
    text = _text(program)
    assert (re.search(r"insertelement <\d+ x i8>", text) is not None) == is_vector
    assert "masked.gather.v16i8" not in text
    for limit in (2**32 - 1, 511):
        agree(program, [_words(size).astype(np.uint8), _words() & limit], DispatchConfig(grid_override=(16, 1, 1)))


def test_guarded_words_at_computed_indices_are_gathered(agree) -> None:
    program = _program("out[i] = x[u32(f32(x[i]) * 0.0000003)];")
    assert "masked.gather" in _text(program)
    agree(program, [_words()], DispatchConfig(grid_override=(16, 1, 1)))


FROM_WORDS = {
    "a lookup": ("u8", "", "u32(t[x[i] & 255])", True),
    "a table that the program states": ("i8", "64", "u32(t[x[i] & 63] ^ t[i & 63])", True),
    "a guarded index": ("u16", "", "u32(t[u32(f32(x[i]) * 0.0000003)])", True),
    "an index of 64 bits": ("i16", "", "u32(i32(t[u64(x[i]) * 3 >> 2])) + u32(t[u64(x[i])])", True),
    "floats": ("f16", "", "u32(f32(t[x[i]]) * 8.0)", True),
    "neighbours that a branch finds": ("u8", "", "u32(t[(i * 5) / (x[0] | 1)])", True),
    "lanes that are not active": ("u8", "", "select(x[i] & 1 == 0, u32(t[x[i]]), 7)", True),
    "less than a word": ("u8", "3", "u32(t[x[i] & 1])", False),
    "neighbours": ("u8", "", "u32(t[i])", False),
}
"""The type of a table, its declared length, what is computed from it, and whether words are gathered."""


@pytest.mark.parametrize("size", [0, 1, 2, 3, 4, 5, 300])
@pytest.mark.parametrize("name", FROM_WORDS)
def test_small_elements_out_of_gathered_words(name: str, size: int, agree_gathering) -> None:
    """On a CPU whose gathers are fast. Words begin within the table, also where that is shorter than a word."""
    dtype, count, value, is_gathered = FROM_WORDS[name]
    program = parse(f"""\
program p workgroup(64, 1, 1) {{
  read t: {dtype}[{count}] @0;
  read x: u32[] @1;
  write out: u32[len(x)] @2;
  let i = global_id.x;
  if i < len(x) {{ for k in 0..x[1] & 1 {{ out[i] = k; }} out[i] = {value}; }}
}}
""")
    assert ("masked.gather.v16i32" in _text(program, gathers=True)) == is_gathered
    (kind,) = (b.dtype.numpy for b in program.buffers if b.name == "t")
    elements = np.random.default_rng(size).integers(0, 100, int(count or size)).astype(kind)
    for x in (_words(), _words() % 7, np.arange(SIZE, dtype=np.uint32)):
        agree_gathering(program, [elements, x], DispatchConfig(grid_override=(16, 1, 1)))


@pytest.mark.parametrize("components", [2, 3, 4])
def test_interleaved_stores_of_gathered_elements(components: int, agree_gathering) -> None:
    """The components of colours that lie elsewhere in another picture: written in one piece."""
    stores = " ".join(f"out[i * {components} + {c}] = t[x[i] * {components} + {c}];" for c in range(components))
    program = parse(f"""\
program p workgroup(64, 1, 1) {{
  read t: u8[] @0;
  read x: u32[] @1;
  write out: u8[len(t)] @2;
  let i = global_id.x;
  if i < len(x) {{ {stores} }}
}}
""")
    assert f"store <{16 * components} x i8>" in _text(program, gathers=True)
    for size in (300, 64, 5):
        t = np.random.default_rng(size).integers(0, 256, size * components).astype(np.uint8)
        agree_gathering(program, [t, _words(size) % (size + 2)], DispatchConfig(grid_override=(16, 1, 1)))


MERGES = {
    "elements": ("select(x[a] <= x[b], 3, 1)", True),
    "elements under another condition": ("select((a < 9) & ((b >= 90) | (x[a] <= x[b])), 3, 1)", True),
    "an element and a number": ("select(x[a] <= 5, 3, 1)", False),
    "the greatest so far": ("select(x[b] > a, x[b], a)", False),
}
"""Selections in a loop, and whether they compare elements."""


@pytest.mark.parametrize("name", MERGES)
def test_selections_by_two_elements_are_no_branches(name: str, agree) -> None:
    value, is_unpredictable = MERGES[name]
    program = parse(f"""\
program p workgroup(1, 1, 1) {{
  read x: u32[] @0;
  write out: u32[1] @1;
  var a = 0;
  var b = 1;
  for k in 0..x[0] & 63 {{ a = (a + {value}) & 255; b = b + 1; }}
  out[0] = a;
}}
""")
    assert ("!unpredictable" in _text(program)) == is_unpredictable
    agree(program, [_words()], DispatchConfig(grid_override=(1, 1, 1)))


@pytest.mark.parametrize("t", ["u32", "u64"])
def test_elements_at_any_indices_are_gathered_where_that_is_fast(t: str, agree_gathering) -> None:
    program = parse(f"""\
program p workgroup(64, 1, 1) {{
  read t: {t}[1024] @0;
  read x: u32[] @1;
  write out: {t}[len(x)] @2;
  let i = global_id.x;
  if i < len(x) {{ var a = t[x[i] & 1023]; for k in 0..x[0] & 7 {{ a = a + t[(x[i] + k) & 1023]; }} out[i] = a; }}
}}
""")
    assert re.search(r"masked\.gather.*splat \(i1 true\)", _text(program, gathers=True))
    assert not re.search(r"masked\.gather.*splat \(i1 true\)", _text(program))
    table = np.arange(1024, dtype=np.uint32 if t == "u32" else np.uint64) << 20
    agree_gathering(program, [table, _words()], DispatchConfig(grid_override=(16, 1, 1)))


STRIDED = {
    "columns": ("var a = 1; for k in 0..x[0] { a = a * 3 + x[k * x[1] + i]; } out[i] = a;", True),
    "a distance that is a number": ("var a = 1; for k in 0..x[0] { a = a * 3 + x[k * 40 + i]; } out[i] = a;", False),
    "a distance of each lane": ("var a = 1; for k in 0..x[0] { a = a * 3 + x[k * x[i] + i]; } out[i] = a;", False),
}
"""Loops that load neighbours some elements further in each iteration, and whether that is unknown."""


@pytest.mark.parametrize("name", STRIDED)
def test_loads_an_unknown_distance_apart_are_fetched_ahead(name: str, agree) -> None:
    body, is_fetched = STRIDED[name]
    program = _program(body)
    assert ("llvm.prefetch" in _text(program)) == is_fetched
    for stride in (1, 40, 2**20):
        x = _words()
        x[:2] = 20, stride
        agree(program, [x], DispatchConfig(grid_override=(16, 1, 1)))


COMPONENTS = {
    "colours": (3, "for c in 0..3 { out[i * 3 + c] = x[i * 3 + c] * 7 + c; }"),
    "a component that differs": (
        4,
        "for c in 0..3 { out[i * 4 + c] = x[i * 4 + c] + x[i * 4 + 3]; } out[i * 4 + 3] = 255;",
    ),
    "a matrix": (
        3,
        "for c in 0..3 { var s = 0; for d in 0..3 { s = s + x[c * 3 + d] * x[i * 3 + d]; } out[i * 3 + c] = s; }",
    ),
}
"""Loops over the components of an element."""


@pytest.mark.parametrize("size", [1, 64, 333])
@pytest.mark.parametrize("name", COMPONENTS)
def test_components_are_written_out(name: str, size: int, agree) -> None:
    components, body = COMPONENTS[name]
    program = parse(f"""\
program p workgroup(64, 1, 1) {{
  read x: u32[] @0;
  write out: u32[len(x)] @1;
  let i = global_id.x;
  if i < len(x) / {components} {{ {body} }}
}}
""")
    (kernel,) = lowered_for(target_of("cpu", spellings(has_half=True)), validate(program)).kernels
    loops = [s for s in statements(kernel.program.body) if isinstance(s, For) and s.is_parallel]
    assert any(not any(isinstance(s, For) for s in statements(loop.body)) for loop in loops)
    agree(program, [_words(size * components)], DispatchConfig(grid_override=(6, 1, 1)))


@pytest.mark.parametrize("name", BODIES)
def test_divergence(name: str, agree) -> None:
    program = _program(BODIES[name])
    assert "@llvm.masked" in (text := _text(program)) or "select <" in text
    agree(program, [_words()], DispatchConfig(grid_override=(16, 1, 1)))


def test_nested_gathers_are_printed_once(agree) -> None:
    """Each index is computed once, so that a nest is as long as it is deep."""
    depth = 40
    program = _program(f"out[i] = {'x[' * depth}i{' & 1023]' * depth};")
    # The innermost are neighbours. Only the loop of the last lanes gathers, which a mask leaves some out of.
    text = _text(program)
    assert text.count("call <16 x i32> @llvm.masked.gather") == depth - 1
    assert text.count("extractelement <16 x ptr>") == 16 * (depth - 1)
    assert _loads_one_by_one(text)
    agree(program, [_words() & 1023], DispatchConfig(grid_override=(16, 1, 1)))


PLACES = {"one element": "2", "an element for each lane": "i & 7", "elements out of bounds": "i & 15"}
COMBINED = [(op, t, "one element") for op in "add and or xor min max".split() for t in ("u32", "i32", "u64", "i64")]
"""Each op on each type has a reduction of its own."""
APART = [(op, t, where) for op, t in (("add", "u32"), ("min", "i64"), ("xor", "u64")) for where in [*PLACES][1:]]
"""Here every lane does what a scalar atomic does."""


@pytest.mark.parametrize(("op", "t", "where"), [*COMBINED, *APART])
def test_atomics_behind_a_loop(op: str, t: str, where: str, agree) -> None:
    """All lanes of a vector, and some of them: their values are combined where they go to one element."""
    wide = "u64" if t.endswith("64") else "u32"
    value = "a" if wide == "u32" else "u64(a) * 11400714819323198485"
    program = parse(f"""\
program p workgroup(64, 1, 1) {{
  read x: u32[] @0;
  read_write all: {t}[8] @1;
  read_write some: {t}[8] @2;
  let i = global_id.x;
  if i < len(x) {{
    var a = x[i];
    for k in 0..50 {{ if a > 4000000000 {{ break; }} a = a * 7 + k; }}
    let value = {value if t == wide else f"bitcast<{t}>({value})"};
    atomic {op}(all[{PLACES[where]}], value);
    if a & 3 == 0 {{ atomic {op}(some[{PLACES[where]}], value); }}
  }}
}}
""")
    text = _text(program)
    assert ("llvm.vector.reduce" in text) == (where == "one element")
    assert "x i1>" in text
    start = _words(32).view({"u32": "u4", "i32": "i4", "u64": "u8", "i64": "i8"}[t])[:8]
    agree(program, [_words(), start, start], DispatchConfig(grid_override=(16, 1, 1)))


def test_old_values_of_atomics_behind_a_loop(agree) -> None:
    """Each lane has the old value that belongs to its element: no other lane goes there."""
    program = parse("""\
program p workgroup(64, 1, 1) {
  read x: u32[] @0;
  read_write a: u32[] @1;
  write out: u32[len(x)] @2;
  let i = global_id.x;
  if i < len(x) {
    var n = x[i];
    for k in 0..50 { if n > 4000000000 { break; } n = n * 7 + k; }
    let old = atomic exchange(a[i * 3], n);
    let other = atomic compare_exchange(a[i * 3 + 1], n + 1, expected = i);
    if n & 3 == 0 { let some = atomic add(a[i * 3 + 2], old); out[i] = some ^ other ^ 5; }
    else { out[i] = old + other; }
    atomic exchange(a[i * 3 + 2], n);
  }
}
""")
    text = _text(program)
    assert "cmpxchg" in text
    assert "x i1>" in text
    memory = np.arange(3 * SIZE, dtype=np.uint32)
    memory[1::3] //= 3
    agree(program, [_words(), memory], DispatchConfig(grid_override=(16, 1, 1)))


def test_lanes_do_not_wait_for_each_other(agree) -> None:
    """A lane that has a lock leaves the loop with it; the others try again: one after the other they all get it."""
    program = parse("""\
program p workgroup(64, 1, 1) {
  read x: u32[] @0;
  read_write lock: u32[1] @1;
  read_write total: u32[1] @2;
  let i = global_id.x;
  if i < len(x) {
    for k in 0..100000 {
      let held = atomic compare_exchange(lock[0], 1, expected = 0);
      if held == 0 { atomic add(total[0], x[i]); atomic exchange(lock[0], 0); break; }
    }
  }
}
""")
    assert "x i1>" not in _text(program)
    agree(program, [_words(), np.zeros(1, "u4"), np.zeros(1, "u4")], DispatchConfig(grid_override=(16, 1, 1)))


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("groups", [1, 2, 4])
def test_rows_are_transposed(name: str, groups: int, agree) -> None:
    each, stride, stores = ROWS[name]
    body = " ".join(f"out[i * {stride} + {place}] = {value};" for place, value in stores)
    program = _program(body, f"len(x) / {stride}")
    text = _text(program)
    assert f"load <{each} x i32>" in text
    assert f"store <{each} x i32>" in text
    assert not _loads_one_by_one(text)
    agree(program, [_words(64 * groups * stride - 5)], DispatchConfig(grid_override=(groups, 1, 1)))


@pytest.mark.parametrize("seed", [*range(200, 204), *slow(range(204, 232))])
def test_a_random_program_of_vectors(seed: int, agree, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every loop that can be one is a vector here."""
    for module in (vector_loops, vectors):
        monkeypatch.setattr(module, "LONG_BODY", 0)
    monkeypatch.setenv("VYRE_CACHE", "off")
    drawn = generate(seed, EVERYTHING)
    config = DispatchConfig(grid_override=drawn.grid, fixpoint_iterations=drawn.iterations)
    agree(drawn.program, [drawn.inputs[buffer.name] for buffer in drawn.program.inputs], config)


@pytest.mark.parametrize("seed", [*range(232, 236), *slow(range(236, 264))])
def test_a_random_program_of_several_vectors_at_once(seed: int, agree, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every loop that others are not in computes four vectors at once, with constants in memory."""
    monkeypatch.setattr(vector_loops, "vectors_at_once", lambda stmts, lanes, registers: MOST)
    monkeypatch.setenv("VYRE_CACHE", "off")
    drawn = generate(seed, EVERYTHING)
    config = DispatchConfig(grid_override=drawn.grid, fixpoint_iterations=drawn.iterations)
    agree(drawn.program, [drawn.inputs[buffer.name] for buffer in drawn.program.inputs], config)


PERMUTED = {
    "pairs":      "let a = w[i * 2]; let b = w[i * 2 + 1]; w[i * 2] = min(a, b); w[i * 2 + 1] = max(a, b);",
    "halves":     "let n = ((i >> 2) << 3) | (i & 3); let a = w[n]; let b = w[n + 4]; w[n] = a - b; w[n + 4] = a + b;",
    "far halves": "let n = ((i >> 4) << 5) | (i & 15); let a = w[n]; w[n] = w[n + 16]; w[n + 16] = a;",
    "gaps":       "w[i * 2 + 1] = w[i * 2] * 3;",
    "one of all": "w[i & 127] = w[i & 127] + w[i + 64];",
}  # fmt: skip


@pytest.mark.parametrize("name", PERMUTED)
def test_permutations_of_workgroup_memory(name: str, agree) -> None:
    program = parse(f"""\
program p workgroup(64, 1, 1) {{
  read x: u32[] @0;
  write out: u32[len(x)] @1;
  workgroup w: u32[128];
  let i = local_id.x;
  w[i] = x[global_id.x];
  w[i + 64] = x[global_id.x] ^ 77;
  barrier workgroup;
  {PERMUTED[name]}
  barrier workgroup;
  out[global_id.x] = w[i] * 5 + w[i + 64];
}}
""")
    text = _text(program)
    assert "shufflevector" in text or name in ("one of all", "far halves")
    if name == "far halves":
        assert "store <16 x i32>" in text  # LLVM alone makes no vectors of it
    agree(program, [_words(256)], DispatchConfig(grid_override=(4, 1, 1)))


ADJACENT = {
    "shifts":   "let k = n[0] & 7; out[(i >> k << k) | (i & ((1 << k) - 1))] = x[i ^ n[1]];",
    "strides":  "out[i * n[2]] = x[i * n[2]];",
    "wraps":    "out[i] = x[i + n[3]];",
    "rows":     """if i < 990 { var a = 0;
                  for k in 0..n[0] { a = a * 3 + x[i + n[3] + k * n[2]];
                    if a & 7 == 3 { out[i + n[3] + n[2]] = a; break; } } }""",
}  # fmt: skip


@pytest.mark.parametrize("name", ADJACENT)
@pytest.mark.parametrize("numbers", [(3, 1, 1, 2**32 - 5), (6, 0, 1, 2**32 - 40), (7, 17, 3, 100), (0, 2**31, 5, 0)])
def test_indices_that_may_be_adjacent(name: str, numbers: tuple[int, ...], agree) -> None:
    program = parse(f"""\
program p workgroup(64, 1, 1) {{
  read x: u32[] @0;
  read n: u32[4] @1;
  write out: u32[len(x)] @2;
  let i = global_id.x;
  {ADJACENT[name]}
}}
""")
    if name == "rows":
        assert "gather" in (text := _text(program))
        assert "@llvm.masked.load" in text
        assert "@llvm.masked.store" in text
    agree(program, [_words(), np.array(numbers, np.uint32)], DispatchConfig(grid_override=(16, 1, 1)))


BACKWARDS = {
    "loads":     "out[i] = x[len(x) - 1 - i];",
    "stores":    "out[len(x) - 1 - i] = x[i] * 3;",
    "both":      "out[len(out) - 1 - i] = x[len(x) - 1 - i] * 3;",
    "mirrored":  "out[i] = x[i] * 5 ^ x[len(x) - 1 - i];",
    "of a half": "if i < len(x) / 2 { out[i] = x[len(x) - 1 - i]; out[len(x) - 1 - i] = x[i]; }",
    "by two":    "if i < len(x) / 2 { out[i] = x[len(x) - 1 - i * 2]; }",
    "in a loop": "var a = 0; for k in 0..5 { a = a * 3 + x[len(x) - 1 - i - k]; } out[i] = a;",
    "a branch":  "if x[i] & 1 == 0 { out[i] = x[len(x) - 1 - i]; }",
    "of a row":  "var a = 0; for k in 0..n[0] { a = a * 3 + x[i * n[0] + (n[0] - 1 - k)]; } out[i] = a;",
    "of blocks": "out[i] = x[(i & ~7) + 7 - (i & 7)];",
    "of 32 bits": "out[i] = x[n[1] - i];",
}  # fmt: skip


@pytest.mark.parametrize("name", BACKWARDS)
def test_lanes_that_run_backwards(name: str, agree) -> None:
    program = parse(f"""\
program p workgroup(64, 1, 1) {{
  read x: u32[] @0;
  read n: u32[2] @1;
  write out: u32[len(x)] @2;
  let i = global_id.x;
  {BACKWARDS[name]}
}}
""")
    for size, last in ((0, 0), (1, 0), (63, 62), (64, 63), (SIZE, SIZE - 1), (1024, 30), (1024, 2**32 - 1)):
        agree(program, [_words(size), np.array([9, last], np.uint32)], DispatchConfig(grid_override=(16, 1, 1)))


@pytest.mark.parametrize("name", ["loads", "stores", "both", "mirrored", "in a loop", "a branch"])
def test_no_element_that_lanes_reach_backwards_is_gathered(name: str) -> None:
    text = str(optimized(_text(_program(BACKWARDS[name])), named("x86-64-v4")))
    assert re.search(r"load <(4|8|16) x i32>", text)
    assert not _loads_one_by_one(text)
    assert not _scatters(text)


# ── patterns ─────────────────────────────────────────────────────────────────────────────────────────────────────────

LANE, GROUP = Local("lane", u32), Local("group", u32)


def _op(name: str, a: Expr, b: Expr | int) -> Expr:
    return Apply(OPS[name], a, literal(a.dtype, b) if isinstance(b, int) else b)


_PAIR = _op("or", _op("raw_shl", _op("raw_shr", LANE, 1), 2), _op("and", LANE, 1))
LOOP = For(LANE.name, literal(u32, 0), literal(u32, 64), 1, (Let("t", LANE),), is_parallel=True)
PATTERNS = [
    (LANE, (0, 1, 2, 3), True),
    (_op("add", Cast(u64, LANE), Cast(u64, GROUP)), (0, 1, 2, 3), True),
    (_op("add", LANE, GROUP), (0, 1, 2, 3), False),  # may wrap between two lanes
    (_op("mul", LANE, 5), (0, 5, 10, 15), False),
    (_op("mul", Cast(u64, LANE), 5), (0, 5, 10, 15), True),
    (_op("raw_shr", LANE, 1), (0, 0, 1, 1), True),
    (_op("and", LANE, 1), (0, 1, 0, 1), True),
    (_PAIR, (0, 1, 4, 5), True),
    (_op("add", _PAIR, 2), (0, 1, 4, 5), True),
    (_op("sub", Cast(u64, LANE), 9), (0, 1, 2, 3), False),
    (_op("sub", _op("mul", Cast(u64, GROUP), 64), Cast(u64, LANE)), (0, -1, -2, -3), False),
    (_op("sub", _op("mul", LANE, 2), _op("mul", LANE, 5)), (0, -3, -6, -9), False),
    (_op("raw_shr", LANE, 3), (0, 0, 0, 0), True),
    (_op("and", LANE, 7), (0, 1, 2, 3), True),
    (_op("or", _op("raw_shl", _op("raw_shr", LANE, 3), 4), _op("and", LANE, 7)), (0, 1, 2, 3), True),
    (_op("or", _op("mul", GROUP, 8), _op("and", LANE, 7)), (0, 1, 2, 3), True),
]  # fmt: skip


@pytest.mark.parametrize(("index", "offsets", "is_exact"), PATTERNS)
def test_how_lanes_differ(index: Expr, offsets: tuple[int, ...], is_exact: bool) -> None:
    found = _lanes().pattern(index)
    assert found is not None
    assert (tuple(o - found.offsets[0] for o in found.offsets), found.is_exact) == (offsets, is_exact)


NO_PATTERNS = [
    _op("or", _op("mul", GROUP, 4), _op("and", LANE, 7)),
    _op("raw_shr", _op("add", LANE, GROUP), 1),
    _op("mul", LANE, GROUP),
    _op("raw_shr", _op("raw_shl", LANE, 31), 31),  # wraps
    _op("raw_shr", _op("mul", LANE, 2**31), 31),
    _op("and", LANE, 6),
    _op("or", LANE, 4),  # base may have that bit
]


@pytest.mark.parametrize("index", NO_PATTERNS)
def test_lanes_that_differ_by_no_constant(index: Expr) -> None:
    assert _lanes().pattern(index) is None


def _lanes(bounds: UpperBounds | None = None) -> VectorLanes:
    return VectorLanes(LOOP, 4, {}, frozenset(), bounds or UpperBounds({}))


BOUNDS = [
    (LANE, 63),
    (GROUP, u32.highest),
    (_op("raw_shr", LANE, 3), 7),
    (_op("raw_shl", LANE, 3), 504),
    (_op("or", LANE, 64), 127),
    (_op("max", LANE, 100), 100),
    (_op("min", GROUP, 100), 100),
    (_op("add", _op("mul", LANE, 3), LANE), 252),
]  # fmt: skip


@pytest.mark.parametrize(("index", "bound"), BOUNDS)
def test_how_large_an_index_can_be(index: Expr, bound: int) -> None:
    assert UpperBounds({}, (LOOP,)).of(index) == bound


def test_a_distance_that_the_end_of_the_loop_keeps_from_wrapping() -> None:
    index = _op("add", _op("or", _op("raw_shl", _op("raw_shr", LANE, 3), 4), _op("and", LANE, 7)), 8)
    exact = [found.is_exact for b in (UpperBounds({}), UpperBounds({}, (LOOP,))) if (found := _lanes(b).pattern(index))]
    assert exact == [False, True]


@pytest.mark.parametrize("is_parallel", [False, True])
def test_loops_over_invocations_are_no_rows(is_parallel: bool) -> None:
    """A loop over rows is written out; the same one over invocations, in one over invocations, is not."""
    program = parse("""\
program p workgroup(1, 1, 1) {
  read x: u32[256] @0;
  write out: u32[256] @1;
  for lane in 0..16 { for k in 0..16 { out[lane * 16 + k] = x[lane * 16 + k]; } }
}
""")
    (outer,) = program.body
    assert isinstance(outer, For)
    (inner,) = outer.body
    assert isinstance(inner, For)
    loops = replace(outer, is_parallel=True, body=(replace(inner, is_parallel=is_parallel),))
    found = [s.name for s in statements(write_out_rows(replace(program, body=(loops,))).body) if isinstance(s, For)]
    assert found == (["lane", "k"] if is_parallel else ["lane"])


LOOPS = {
    "sums":      "var a = 0; for k in 0..16 { a = a + x[i * 16 + k]; } out[i] = a;",
    "prefixes":  "var a = i; for k in 0..8 { a = a + x[i * 8 + k]; out[i * 8 + k] = a; }",
    "backwards": "var a = i; for k in 0..8 { a = a * 3 + x[i * 8 + k]; out[i * 8 + (7 - k)] = a; }",
    "steps":     "var a = i; for k in 0..16 step 2 { a = a * 3 + x[i * 16 + k]; out[i * 16 + k] = a; }",
}  # fmt: skip


@pytest.mark.parametrize("name", LOOPS)
def test_loops_along_rows(name: str, agree) -> None:
    stride = 16 if "* 16" in LOOPS[name] else 8
    program = _program(LOOPS[name], f"len(x) / {stride}")
    if name in ("sums", "prefixes"):
        assert "load <8 x i32>" in (text := _text(program))  # rows that are longer than a vector are several
        assert not _loads_one_by_one(text)
    if name == "prefixes":
        assert "store <8 x i32>" in text
    for size in (64 * 3 * stride, 64 * 3 * stride - 9):
        agree(program, [_words(size)], DispatchConfig(grid_override=(3, 1, 1)))


GUARDS = {
    "a constant element of what is read": ("read go: u32[2] @0;", "if go[1] != 0 { BODY }", True),
    "an element at a runtime index":      ("read go: u32[64] @0;", "if go[go[0] & 63] != 0 { BODY }", False),
    "both arms":                          ("read go: u32[2] @0;", "if go[1] != 0 { BODY } else { out[i] = 9; }", True),
    "what the loop itself writes":        ("read_write go: u32[2] @0;", "if go[1] != 0 { BODY go[1] = 0; }", False),
    "something else for each invocation": ("read go: u32[64] @0;", "if go[i & 63] != 0 { BODY }", False),
}  # fmt: skip


@pytest.mark.parametrize("name", GUARDS)
def test_conditions_that_invocations_share_are_asked_once(name: str, agree) -> None:
    """So a loop along rows in such a branch is one for vectors too."""
    declared, guarded, is_once = GUARDS[name]
    body = guarded.replace("BODY", "var a = 0; for k in 0..16 { a = a + x[i * 16 + k]; } out[i] = a;")
    program = parse(f"""\
program p workgroup(64, 1, 1) {{
  {declared}
  read x: u32[] @1;
  write out: u32[len(x)] @2;
  let i = global_id.x;
  {body}
}}
""")
    words = spellings(has_half=True, vector_bits=512)
    (kernel,) = lowered_for(target_of("cpu", words), validate(program)).kernels
    around = [
        stmt.condition
        for stmt in statements(kernel.program.body)
        if isinstance(stmt, If) and any(isinstance(s, For) and s.is_parallel for s in statements(stmt.then))
    ]
    lets = {Local(s.name, s.value.dtype): s.value for s in statements(kernel.program.body) if isinstance(s, Let)}
    values = (lets.get(node, node) if isinstance(node, Local) else node for node in postorder(around))
    assert any(isinstance(value, Load) and value.buffer.name == "go" for value in values) == is_once
    size = 2 if "[2]" in declared else 64
    for value in (0, 1) if declared.startswith("read ") else ():  # else invocations race
        for words in (64 * 3 * 16, 64 * 3 * 16 - 9):
            go = np.full(size, value, np.uint32)
            agree(program, [go, _words(words)], DispatchConfig(grid_override=(3, 1, 1)))


LOOKUPS = {
    "states":  "var s = u32(t[i & 63]); for k in 0..100 { s = u32(t[(s * 7 + k) & 1023]); } out[i] = s;",
    "nested":  "var s = i; for k in 0..9 { var m = s & 7; for l in 0..k { m = m + u32(t[(m * 5 + l) & 2047]); } "
               "s = s ^ m; } out[i] = s;",
    "guarded": "var s = i; for k in 0..40 { s = s + u32(t[s]); } out[i] = s;",
}  # fmt: skip


@pytest.mark.parametrize("name", LOOKUPS)
@pytest.mark.parametrize("size", [256, 250, 3])
def test_lookups_of_several_invocations(name: str, size: int, agree) -> None:
    program = parse(f"""\
program p workgroup(64, 1, 1) {{
  read t: u8[] @0;
  read x: u32[] @1;
  write out: u32[len(x)] @2;
  let i = global_id.x;
  if i < len(x) {{ {LOOKUPS[name]} }}
}}
""")
    (kernel,) = lowered_for(target_of("cpu", spellings(has_half=True)), validate(program)).kernels
    assert any(isinstance(s, For) and s.step == BATCH for s in statements(kernel.program.body))
    table = np.random.default_rng(3).integers(0, 256, 1024, np.uint8)
    agree(program, [table, _words(size)], DispatchConfig(grid_override=(4, 1, 1)))


@pytest.mark.parametrize("size", [1, BATCH - 1, BATCH])
def test_a_loop_of_few_invocations_that_looks_up_is_compiled(size: int, agree) -> None:
    program = parse(f"""program p workgroup({size}, 1, 1) {{
        read table: u8[4] @0; read x: u32[] @1; write out: u32[len(x)] @2;
        let i = global_id.x; var at = x[i] & 3;
        for k in 0:i16..2 {{ at = at + 1; }}
        for l in num_workgroups.y & 3..4 {{ at = u32(table[at & 3]); }}
        out[i] = at;
    }}""")
    agree(program, [np.array([2, 3, 1, 0], np.uint8), np.arange(15, dtype=np.uint32)])


TREES = {
    "sum": ("u32", "x[global_id.x]", "w[i] = w[i] + w[i + {d}];", "w[0]"),
    "sum of floats": ("f32", "f32(x[global_id.x])", "w[i] = w[i] + w[i + {d}];", "u32(w[0] / 4096.0)"),
    "wide greatest": ("u64", "u64(x[global_id.x]) << 20", "w[i] = max(w[i], w[i + {d}]);", "u32(w[0] >> 20)"),
}  # fmt: skip
"""Type, first values, a step, and the result."""


@pytest.mark.parametrize("name", TREES)
def test_a_tree_in_workgroup_memory_is_in_registers(name: str, agree) -> None:
    dtype, first, step, result = TREES[name]
    steps = "\n".join(f"if i < {d} {{ {step.format(d=d)} }} barrier workgroup;" for d in (32, 16, 8, 4, 2, 1))
    program = parse(f"""\
program p workgroup(64, 1, 1) {{
  read x: u32[] @0;
  write out: u32[len(x)] @1;
  workgroup w: {dtype}[64];
  let i = local_id.x;
  w[i] = {first};
  barrier workgroup;
  {steps}
  if i == 0 {{ out[workgroup_id.x] = {result}; }}
}}
""")
    assert "alloca [" not in str(optimized(_text(program), named("x86-64-v4")))
    for size in (256, 250):
        agree(program, [_words(size)], DispatchConfig(grid_override=(4, 1, 1)))


def _tree(dtype: str) -> Program:
    """The sum of 256 elements for each workgroup."""
    distances = [128 >> n for n in range(8)]
    steps = "\n".join(f"if i < {d} {{ w[i] = w[i] + w[i + {d}]; }} barrier workgroup;" for d in distances)
    return parse(f"""\
program p workgroup(256, 1, 1) {{
  read x: {dtype}[] @0;
  write out: {dtype}[len(x)] @1;
  workgroup w: {dtype}[256];
  let i = local_id.x;
  w[i] = x[global_id.x];
  barrier workgroup;
  {steps}
  if i == 0 {{ out[workgroup_id.x] = w[0]; }}
}}
""")


@pytest.mark.parametrize("size", [1024, 1001])
def test_a_tree_behind_checks_takes_operands_from_memory(size: int, agree) -> None:
    """As many vectors as AVX2 has no registers for: where the checked loads join the others, all would be alive."""
    program = _tree("u32")
    code = assembly(_text(program, 256), named("x86-64-v3"))
    assert len(re.findall(r"vpaddd\t\d*\(%r\w+,%r\w+,4\), %ymm", code)) == 31
    agree(program, [_words(size)], DispatchConfig(grid_override=(4, 1, 1)))


@pytest.mark.parametrize("dtype", ["u32", "i32", "f32"])
def test_a_tree_loads_in_the_order_of_memory_where_all_vectors_have_registers(dtype: str) -> None:
    code = assembly(_text(_tree(dtype), 512), named("x86-64-v4"))
    whole = re.findall(r"\t(\d*)\(%r\w+,%r\w+,4\), %ymm\d+$", code, re.MULTILINE)
    assert [int(distance or 0) for distance in whole] == list(range(0, 1024, 32))


def test_masks_of_several_registers_are_not_unpacked_from_bytes_where_values_are_selected(agree) -> None:
    """What LLVM makes of conditions that take several registers of AVX2 and go to the next iteration of a loop."""
    program = parse("""\
program p workgroup(256, 1, 1) {
  read x: f32[] @0;
  write out: u32[len(x)] @1;
  let c = x[global_id.x];
  var a = c;
  var rounds = u32(0);
  for k in 0..100 {
    let square = a * a;
    if square > 4.0 { break; }
    a = square + c;
    rounds = rounds + 1;
  }
  out[global_id.x] = rounds;
}
""")
    code = assembly(_text(program, 256), named("x86-64-v3"))
    assert "vblendvps" in code
    assert "vpmovzxbd" not in code
    x = np.linspace(-3, 3, 1000, dtype=np.float32)
    agree(program, [x], DispatchConfig(grid_override=(4, 1, 1)))


def _horner(degree: int) -> str:
    value = f"x[i] * {1 / (degree + 1)} + {1 / degree}"
    for k in range(degree - 1, 0, -1):
        value = f"({value}) * x[i] + {1 / k}"
    return value


def _polynomial(value: str) -> Program:
    return parse(f"""\
program p workgroup(64, 1, 1) {{
  read x: f32[] @0;
  write out: f32[len(x)] @1;
  let i = global_id.x;
  if i < len(x) {{ out[i] = {value}; }}
}}
""")


@pytest.mark.parametrize(("bits", "cpu", "register"), [(256, "x86-64-v3", "ymm"), (512, "x86-64-v4", "zmm")])
def test_a_long_chain_is_computed_for_several_vectors_at_once(bits: int, cpu: str, register: str) -> None:
    """And nothing is spilled for it: constants come from memory."""
    code = assembly(_text(_polynomial(_horner(32)), bits), named(cpu))
    arithmetic = "".join(re.findall(rf"\tv(?:mul|add)ps\t.*%{register}\d+\n", code))
    assert len(re.findall(r"(?:\tvmulps\t.*\n){4}(?:\tvaddps\t.*\n){4}", arithmetic)) == 32
    assert not re.search(rf"%{register}\d+, -?\d*\(%rsp\)", code)


def _product(first: int, last: int) -> str:
    if last - first == 1:
        return f"(x[i] * {first}.5 + {first}.25)"
    middle = (first + last) // 2
    return f"({_product(first, middle)} * {_product(middle, last)})"


FOLLOWED = {
    "a chain": ("for k in 0..x[0] & 63 { a = x[a & 1023] + k; }", 64),
    "a search": (
        """var high = len(x);
        for k in 0..min(x[0], 32) {
          let middle = (a + high) >> 1;
          let is_below = (a < high) & (x[middle] < x[i]);
          a = select(is_below, middle + 1, a);
          high = select(is_below, high, middle);
        }""",
        64,
    ),
    "many variables": (
        """var b = i; var c = i; var d = i; var e = i;
        for k in 0..x[0] & 63 { a = x[b & 1023]; b = a + c; c = c * 3 + a; d = d * 5 ^ b; e = e * 7 + d; }
        a = a + e;""",
        32,
    ),
    "loads that do not follow each other": ("for k in 0..x[0] & 63 { a = a + x[(i * 7 + k) & 1023]; }", 16),
    "lanes that leave": ("for k in 0..x[0] & 63 { if a > 1000 { break; } a = x[a & 1023] & 1023; }", 16),
    "lanes with ends of their own": ("for k in 0..x[i] & 63 { a = x[a & 1023] + k; }", 16),
}
"""Loops that load at indices, and the lanes of their vectors: a register of 512 bits has 16."""


@pytest.mark.parametrize("name", FOLLOWED)
def test_several_vectors_follow_their_loads_at_once(name: str, agree) -> None:
    """One vector alone waits for each load before the next begins."""
    loop, lanes = FOLLOWED[name]
    program = _program(f"var a = i & 1023; {loop} out[i] = a;")
    widths = {int(lanes) for lanes in re.findall(r"alloca <(\d+) x i32>", _text(program))}
    assert max(widths) == lanes
    agree(program, [np.sort(_words())])


APART = {
    "pairs": "for k in i + 1..len(x) { a = a * 0.5 + f32(x[k] >> 8); }",
    "steps": "for k in i..len(x) step 96 { a = a * 0.5 + f32(x[k] >> 8); }",
    "other ends": "for k in i..min(len(x), i + (x[i] & 31)) { a = a * 0.5 + f32(x[k] >> 8); }",
    "ends before the beginning": "for k in i..x[i] & 1023 { a = a * 0.5 + f32(x[k & 63] >> 8); }",
    "counters that wrap behind their ends":
        "for k in (i & 63) + 4294967200..4294967295 { a = a * 0.5 + f32(k & 255); }",
    "a beginning that wraps": "for k in i - 8..len(x) { a = a * 0.5 + f32(x[k] >> 8); }",
    "wide counters": "for k in u64(i)..u64(len(x)) step 7 { a = a * 0.5 + f32(x[k] >> 8); }",
    "several beginnings":
        "for m in 0..5 { for k in i + m..len(x) step 50 { a = a * 0.5 + f32(x[k] >> 8); } }",
    "a loop in a loop": "for k in i..len(x) step 60 { for m in k..len(x) step 99 { a = a * 0.5 + f32(x[m] >> 8); } }",
    "some lanes": "if x[i] & 3 != 0 { for k in i + 1..len(x) step 9 { a = a * 0.5 + f32(x[k] >> 8); } }",
    "neighbours": "for k in i >> 3..len(x) step 64 { a = a * 0.5 + f32(x[k] >> 8); }",
    "stores": "if i < 64 { for k in i..len(x) step 64 { a = a * 0.5 + f32(x[k] >> 8); if k & 1 == 1 { y[k] = a; } } }",
    "carried by whole numbers": "for k in i..len(x) step 40 { n = n * 5 + (x[k] >> 8); a = f32(n); }",
}  # fmt: skip
"""Loops that the lanes of a vector begin side by side, each at its own index."""


def _apart(loop: str) -> Program:
    return parse(f"""\
program p workgroup(64, 1, 1) {{
  read x: u32[] @0;
  write out: f32[len(x)] @1;
  write y: f32[len(x)] @2;
  let i = global_id.x;
  if i < len(x) {{ var a = f32(0.0); var n = 0; {loop} out[i] = a + f32(n); }}
}}
""")


@pytest.mark.parametrize("size", [1, 31, 64, 645])
@pytest.mark.parametrize("name", APART)
def test_lanes_begin_loops_apart(name: str, size: int, agree) -> None:
    program = _apart(APART[name])
    assert "x i1>" in _text(program)
    agree(program, [_words(size)], DispatchConfig(grid_override=(11, 1, 1)))


def test_lanes_that_begin_side_by_side_in_a_register_and_not_in_several(agree) -> None:
    """The last lane of 32 is not the one that begins last, so it does not say how far all of them go."""
    program = parse("""\
program p workgroup(64, 1, 1) {
  read x: u32[] @0;
  write out: f32[len(x)] @1;
  let i = global_id.x;
  if i < len(x) {
    var a = f32(0.0);
    for k in (i & 7) + ((i >> 3) & 1) * 4294967280 + ((i >> 4) & 1) * 64 + 32..len(x) { a = a * 0.5 + f32(x[k] >> 8); }
    out[i] = a;
  }
}
""")
    agree(program, [_words(128)], DispatchConfig(grid_override=(2, 1, 1)))


@pytest.mark.parametrize(
    "loop",
    [
        "for k in i..len(x) { n = n + x[k]; }",
        "for k in i..len(x) { if x[k] < x[i] { n = n + 1; } }",
        "for k in i..len(x) { if x[k] == x[i] { n = k; break; } }",
        "for k in x[i]..len(x) { a = a + f32(x[k]); }",
        "for k in i * 16..len(x) { a = a + f32(x[k]); }",
    ],
)
def test_loops_that_lanes_begin_apart_and_run_better_alone(loop: str, agree) -> None:
    """Sums in vectors of iterations, searches, and what is far apart."""
    program = _apart(loop)
    assert "x i1>" not in _text(program)
    agree(program, [_words(250)], DispatchConfig(grid_override=(4, 1, 1)))


@pytest.mark.parametrize("value", [_horner(5), _product(0, 32)])
def test_other_loops_are_left_to_llvm(value: str) -> None:
    """Constants that registers hold, and products that do not wait for each other for long."""
    assert "load volatile" not in _text(_polynomial(value), 256)


@pytest.mark.parametrize("size", [1, 7, 31, 32, 33, 64, 250])
def test_a_long_chain_agrees(size: int, agree) -> None:
    values = np.random.default_rng(5).standard_normal(size).astype(np.float32)
    values[size // 2] = np.nan
    agree(_polynomial(_horner(32)), [values], DispatchConfig(grid_override=(4, 1, 1)))


def test_memory_stays_where_an_index_is_not_known(agree) -> None:
    """One access at an index that is computed, and no register can be named."""
    program = parse("""\
program p workgroup(64, 1, 1) {
  read x: u32[] @0;
  write out: u32[len(x)] @1;
  workgroup w: u32[64];
  let i = local_id.x;
  w[i] = x[global_id.x];
  barrier workgroup;
  if i < 32 { w[i] = w[i] + w[i + 32]; }
  barrier workgroup;
  out[global_id.x] = w[x[global_id.x] & 63];
}
""")
    assert "alloca [64 x i32]" in str(optimized(_text(program), named("x86-64-v4")))
    agree(program, [_words(250)], DispatchConfig(grid_override=(4, 1, 1)))


@pytest.mark.parametrize(
    ("sums", "group", "lanes"), [(1, 64, 64), (4, 64, 64), (8, 64, 32), (16, 64, 16), (1, 40, 32), (1, 7, 8)]
)
def test_sums_over_rows_are_in_registers(sums: int, group: int, lanes: int, agree) -> None:
    """The loop is inside of the one over invocations, whose vectors have several registers. The last has masks."""
    rows, columns = 21, 203
    variables = "\n".join(f"var s{n} = i + {n};" for n in range(sums))
    steps = "\n".join(f"s{n} = s{n} * {n + 3} + a;" for n in range(sums))
    program = parse(f"""\
program p workgroup({group}, 1, 1) {{
  read x: u32[] @0;
  uniform shape: u32[2] @1;
  write out: u32[len(x)] @2;
  let i = global_id.x;
  if i < shape[1] {{
    {variables}
    for k in 0..shape[0] {{
      let a = x[k * shape[1] + i];
      {steps}
    }}
    out[i] = {" ^ ".join(f"s{n}" for n in range(sums))};
  }}
}}
""")
    module = optimized(_text(program), named("x86-64-v4"))
    assert f"phi <{lanes} x i32>" in str(module)
    assert "alloca <" not in str(module)
    shape = np.array([rows, columns], np.uint32)
    agree(program, [_words(rows * columns), shape], DispatchConfig(grid_override=(-(-columns // group), 1, 1)))


@pytest.mark.parametrize("bits", [256, 512])
def test_whole_vectors_are_stored_without_a_mask(bits: int) -> None:
    """For AVX2: there a masked store is slow on some CPUs."""
    body = "var a = 0; for k in 0..x[i] & 31 { a = a * 3 + k; } if a & 1 == 0 { out[i] = a; }"
    text = _text(_program(body), bits)
    assert "@llvm.masked.store" in text
    assert ("label %whole" in text) == (bits == 256)


@pytest.mark.parametrize("size", [64, 250])
@pytest.mark.parametrize("t", ["u8", "u16", "u64"])
def test_own_rows_need_no_masks(t: str, size: int, agree) -> None:
    """Masked accesses of small elements are a branch for each lane, but with AVX-512."""
    program = parse(f"""\
program p workgroup(64, 1, 1) {{
  read x: u32[] @0;
  write out: u32[len(x)] @1;
  private own: {t}[8];
  let i = global_id.x;
  if i < len(x) {{
    for k in 0..x[0] & 31 | 16 {{
      if x[i] >> (k & 31) & 1 == 1 {{ own[k & 7] = own[k & 7] * {t}(3) + {t}(x[i] ^ k); }}
    }}
    for m in 0..x[0] & 7 | 1 {{ own[0] = own[0] * {t}(5) ^ own[m]; }}
    out[i] = u32(own[0]);
  }}
}}
""")
    text = _text(program, 256)
    masked = {line.split("@llvm.masked.")[1].split("(")[0] for line in text.splitlines() if "@llvm.masked." in line}
    assert {name.split(".")[0] for name in masked} == {"load", "store"}
    assert all(name.endswith("i32.p0") for name in masked), "of buffers alone"
    agree(program, [_words(size)], DispatchConfig(grid_override=(-(-size // 64), 1, 1)))


@pytest.mark.parametrize("bits", [128, 256, 512])
def test_sums_are_inside_where_masks_are_for_memory(bits: int) -> None:
    """Elsewhere invocations at the edge of a grid run one by one, and rows are better read by all of them together."""
    program = parse("""\
program p workgroup(64, 1, 1) {
  read x: u32[] @0;
  write out: u32[len(x)] @1;
  let i = global_id.x;
  var sum = 0;
  for k in 0..len(x) >> 10 { sum = sum * 3 + x[(k << 10) + i]; }
  out[i] = sum;
}
""")
    target = target_of("cpu", spellings(has_half=True, vector_bits=bits))
    (kernel,) = lowered_for(target, validate(program)).kernels
    loops = [s for s in statements(kernel.program.body) if isinstance(s, For) and not s.is_parallel]
    has_invocations = [any(isinstance(s, For) and s.is_parallel for s in statements(loop.body)) for loop in loops]
    assert any(has_invocations) == (bits < 256)


@pytest.mark.parametrize("size", [*EDGES, 100, *slow(n for n in range(33) if n not in EDGES)])
@pytest.mark.parametrize("name", BODIES)
def test_the_last_vector_has_masks(name: str, size: int, agree) -> None:
    agree(_program(BODIES[name]), [_words(size)], DispatchConfig(grid_override=(2, 1, 1)))


@pytest.mark.parametrize("loop", ["", "for k in 0..9 { if a == x[1] { break; } a = a * x[2]; }"])
@pytest.mark.parametrize("lane", [0, 3, 7])
@pytest.mark.parametrize(
    ("wide", "dtype", "lanes"),
    [
        ("u32", "u8", 16),
        ("i32", "i16", 16),
        ("f32", "f16", 16),
        ("f32", "bf16", 16),
        ("u64", "u32", 8),
        ("f64", "f32", 8),
    ],
)
def test_one_lane_stores_its_own_element(wide: str, dtype: str, lanes: int, lane: int, loop: str, agree) -> None:
    """LLVM knows which lane it is, and that the element is a part of a larger one."""
    program = parse(f"""\
program p workgroup({lanes}, 1, 1) {{
  read x: {wide}[] @0;
  read_write out: {dtype}[] @1;
  let i = global_id.x;
  var a = x[i];
  {loop}
  a = a * x[3] + x[4];
  if local_id.x == {lane} {{ out[i] = {dtype}(a); }}
}}
""")
    random = np.random.default_rng(3)
    words = random.integers(1, 2**7, 3 * lanes).astype(f"{wide[0]}{int(wide[1:]) // 8}")
    start = random.bytes(3 * lanes * (1 if dtype == "u8" else 4 if dtype.endswith("32") else 2))
    agree(program, [words, start], DispatchConfig(grid_override=(3, 1, 1)))


@pytest.mark.parametrize(("bits", "truncated"), [(8, 32), (16, 32), (32, 64)])
def test_llvm_stores_too_much_of_one_lane(bits: int, truncated: int) -> None:
    """The flaw that `VectorValues` hides masks for: delete that where this fails."""
    lanes = 512 // truncated
    mask = ", ".join(["i1 true", *["i1 false"] * (lanes - 1)])
    text = f"""\
define void @f(ptr %p, <{lanes} x i{truncated}> %x) {{
  %y = trunc <{lanes} x i{truncated}> %x to <{lanes} x i{bits}>
  call void @llvm.masked.store.v{lanes}i{bits}.p0(<{lanes} x i{bits}> %y, ptr align 1 %p, <{lanes} x i1> <{mask}>)
  ret void
}}
"""
    whole = "vmovss" if truncated == 32 else "vmovlps"
    assert whole in assembly(text, named("x86-64-v4"))
    assert whole not in assembly(text, named("x86-64-v3"))


@pytest.mark.parametrize("model", ["x86-64-v4", "znver4"])
@pytest.mark.parametrize("rows", [3, 4, 12, 20])
def test_vectors_of_which_one_half_is_left_out_are_compiled(model: str, rows: int) -> None:
    """For Zen 4, LLVM 22 ends the process where it knows of a gather that the other half is all that is needed."""
    with program("sums", workgroup_size=(1, rows)) as p:
        x = p.read("x", u64)
        out = p.write("out", u64, like=x)
        i = p.let(p.workgroup_id(0) * rows + p.local_id(1))
        both = [p.let(x[2 * i + n]) for n in (0, 1)]
        (a, b), (c, d) = ([(word >> n).cast(u32).bitcast(f32) for n in (0, 32)] for word in both)
        for n, (low, high) in enumerate(((a + c, b + d), (a - c, b - d))):
            out[3 * i + n] = low.bitcast(u32).cast(u64) | (high.bitcast(u32).cast(u64) << 32)
    assert "vaddps" in assembly(_text(p.build()), replace(named("x86-64-v4"), model=model))


INTERLEAVED = {
    "two":     "out[i * 2 + 1] = x[i * 2]; out[i * 2] = x[i * 2 + 1];",
    "three":   "out[i * 3] = x[i * 3 + 2]; out[i * 3 + 1] = x[i * 3 + 1]; out[i * 3 + 2] = x[i * 3];",
    "four":    "out[i * 4] = 1; out[i * 4 + 1] = x[i]; out[i * 4 + 2] = i; out[i * 4 + 3] = x[i] ^ i;",
    "shifted": "out[i * 2 + 1] = x[i]; out[i * 2 + 2] = x[i + 1];",
}  # fmt: skip
"""Bodies that write all of adjacent elements, some for each invocation."""


@pytest.mark.parametrize("name", INTERLEAVED)
def test_interleaved_stores_are_vectors(name: str, agree) -> None:
    """LLVM shuffles what lanes write, and stores whole vectors."""
    program = _program(INTERLEAVED[name], "len(x)")
    text = assembly(str(optimized(_text(program, 256), named("x86-64-v3"))), named("x86-64-v3"))
    assert re.search(r"vmovup[sd]\s+%ymm\d+, ", text) or re.search(r"vmovdqu\s+%ymm\d+, ", text)
    assert "extractps" not in text
    for size in (64 * 16, 64 * 16 - 3, 5):
        agree(program, [_words(size)], DispatchConfig(grid_override=(16, 1, 1)))
