"""What every legalized kernel has in common: its memory, its argument order, its determinism."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from vyre_driver.codegen.c.unit import print_unit
from vyre_driver.codegen.lower import legalize
from vyre_foundation.build import program
from vyre_foundation.dtype import bool_, f16, f32, i8, i16, i32, u8, u16, u32
from vyre_foundation.ir.buffer import RUNTIME, Access, Memory


def kernel_of(build, dialect, dialects, case):
    with program("kernel", 8) as p:
        build(p)
    return (
        case(p.build(), {b.name: bytes(64 * b.dtype.size) for b in p.build().inputs})
        .lower(dialects[dialect].target())
        .kernels[0]
    )


def test_arguments_are_the_buffers_that_are_touched_then_lengths(dialects, case):
    def build(p):
        a, unused, b = p.read("a", u32), p.read("unused", u32), p.read("b", u32, 64)
        out = p.write("out", u32, like=b)
        p.private("idle", u32, 4)
        assert unused.dtype is u32
        out[p.global_id(0)] = a[p.global_id(0)] + b[1]

    kernel = kernel_of(build, "full", dialects, case)
    assert [(b.name, b.binding) for b in kernel.program.buffers] == [("a", 0), ("b", 1), ("out", 2)]
    assert kernel.lengths == ("a", "out")


@pytest.mark.parametrize(
    ("dialect", "stored"),
    [
        ("poor", {u8: u8, u16: u16, i8: u8, i16: u16, f16: u16, bool_: u8, f32: f32, i32: i32}),
        ("single", {u8: u8, u16: u16, i8: i8, i16: i16, f16: u16, bool_: u8, f32: f32, i32: i32}),
        ("rich", {u8: u8, u16: u16, i8: i8, i16: i16, f16: f16, bool_: u8, f32: f32, i32: i32}),
    ],
)
def test_memory_has_types_that_the_target_has(dialect, stored, dialects, case):
    def build(p):
        for dtype in stored:
            p.write(f"w_{dtype}", dtype, 64)[p.global_id(0)] = p.read(f"r_{dtype}", dtype)[p.global_id(0)]

    kernel = kernel_of(build, dialect, dialects, case)
    assert {b.name: b.dtype for b in kernel.program.buffers} == {f"{w}_{t}": s for t, s in stored.items() for w in "rw"}


def test_to_a_kernel_all_memory_of_the_device_is_alike(dialects, case):
    def build(p):
        a, s, u, k = p.read("a", u32), p.scratch("s", u32, 64), p.uniform("u", u32), p.persistent("k", u32, 64)
        i = p.global_id(0)
        s[i] = a[i] + u[0] + k[i]
        p.write("out", u32, like=a)[i] = s[i]

    kernel = kernel_of(build, "full", dialects, case)
    kinds = {b.name: (b.memory, b.access, b.count) for b in kernel.program.buffers}
    assert kinds == {
        "a": (Memory.STORAGE, Access.READ, RUNTIME),
        "u": (Memory.UNIFORM, Access.READ, RUNTIME),
        "s": (Memory.STORAGE, Access.READ_WRITE, 64),
        "k": (Memory.STORAGE, Access.READ, 64),
        "out": (Memory.STORAGE, Access.READ_WRITE, RUNTIME),
    }


@pytest.mark.parametrize("volume", [1, 8, 32])
@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 16, 33])
def test_workgroup_memory_is_cleared_by_its_invocations(count, volume, dialects, case, check):
    """Every element once, whatever the ratio; a barrier after it, if others read. Private memory is for printers."""
    with program("clear", volume) as p:
        w = p.workgroup("w", u16, count)
        out = p.write("out", u16, 40)
        l = p.local_id(0)
        with p.range(0, 40) as k, p.if_(l == 0):
            out[k] = w[k] + 1
    lowered = check(case(p.build(), {}, grid=(1, 1, 1)), "full")
    assert str(lowered.kernels[0].program).count("barrier") == (count > 0 and volume > 1)


def test_indirect_dispatch_is_the_hosts(case, check):
    with program("by_the_host", 4) as p:
        grid = p.read("grid", u32)
        p.indirect_dispatch(grid, 1)
        p.write("out", u32, 16)[p.global_id(0)] = p.num_workgroups(0)
    lowered = check(case(p.build(), {"grid": [9, 3, 1, 1]}), "full")
    assert "indirect" not in str(lowered.kernels[0].program)


def test_equal_programs_give_equal_texts_in_every_process():
    """Sets and dictionaries of expressions are keyed by identity: their order must not show."""
    source = """
        from hashlib import sha256
        import sys
        from vyre_driver.codegen.c.unit import print_unit
        from vyre_driver.codegen.lower import legalize
        from vyre_foundation.testing import EVERYTHING, generate
        import importlib.util
        spec = importlib.util.spec_from_file_location("words", sys.argv[1])
        words = importlib.util.module_from_spec(spec)
        sys.modules["words"] = words
        spec.loader.exec_module(words)
        digest = sha256()
        for seed in range(6):
            program = generate(seed, EVERYTHING).program
            for name in ("full", "shuffling", "loops", "rich"):
                dialect = words.DIALECTS[name]
                lowered = legalize(program, program.validate(), dialect.target())
                digest.update(print_unit(lowered, dialect).text.encode())
        sys.stdout.write(digest.hexdigest())
    """
    digests = set()
    for seed in ("1", "random"):
        run = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(source), str(Path(__file__).parent.parent / "conftest.py")],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        )
        digests.add(run.stdout)
    assert len(digests) == 1


def test_the_source_and_its_facts_are_all_that_counts(dialects):
    def build():
        with program("twice", 8) as p:
            a = p.read("a", i16)
            p.write("out", i16, like=a)[p.global_id(0)] = a[p.global_id(0)] * 3
        return p.build()

    texts = {
        print_unit(legalize(p, p.validate(), dialects["full"].target()), dialects["full"]).text
        for p in (build(), build())
    }
    assert len(texts) == 1
