"""Texts of small kernels, as they are: what a person sees who looks at what runs."""

from __future__ import annotations

from vyre_driver.codegen.c.unit import print_unit
from vyre_driver.codegen.lower import legalize
from vyre_foundation.build import apply, program
from vyre_foundation.dtype import bool_, f16, f32, i8, i32, u8, u32


def show(golden, dialects, name, built, *names):
    texts = []
    for dialect in names:
        lowered = legalize(built, built.validate(), dialects[dialect].target())
        texts.append(f"// {dialect}\n{print_unit(lowered, dialects[dialect]).text}")
    golden(f"{name}.c", "\n".join(texts))


def test_elementwise(golden, dialects):
    with program("add", 64) as p:
        a, b = p.read("a", u32), p.read("b", u32)
        i = p.global_id(0)
        p.write("out", u32, like=a)[i] = a[i] + b[i]
    show(golden, dialects, "elementwise", p.build(), "full", "loops")


def test_reduction(golden, dialects):
    with program("total", 8) as p:
        a, s, o = p.read("a", u32), p.workgroup("s", u32, 8), p.read_write("o", u32, 1)
        l = p.local_id(0)
        s[l] = a[p.global_id(0)]
        p.barrier()
        for d in (4, 2, 1):
            with p.if_(l < d):
                s[l] = s[l] + s[l + d]
            p.barrier()
        with p.if_(l == 0):
            o.atomic_add(0, s[0])
    show(golden, dialects, "reduction", p.build(), "full", "loops")


def test_grid_barriers(golden, dialects):
    with program("steps", 4) as p:
        a = p.read_write("a", f32)
        i = p.global_id(0)
        v = p.var(a[i])
        with p.range(0, 3) as r:
            p.grid_barrier()
            v.set(v + a[i + 1] * r.cast(f32))
            p.grid_barrier()
            a[i] = v.get()
    show(golden, dialects, "grid_barriers", p.build(), "full", "rich")


def test_narrow_types(golden, dialects):
    with program("narrow", 4) as p:
        a, h, flags = p.read("a", i8), p.read("h", f16), p.read("flags", bool_)
        i = p.global_id(0)
        with p.if_(flags[i]):
            p.write("q", i8, like=a)[i] = apply("div", a[i], a[i + 1])
        p.write("s", f16, like=a)[i] = h[i] + h[i]
        p.write("f", bool_, like=a)[i] = a[i] > 3
    show(golden, dialects, "narrow_types", p.build(), "poor", "rich")


def test_subgroups(golden, dialects):
    with program("scan", 8, subgroup_size=4) as p:
        a = p.read("a", u32)
        i = p.global_id(0)
        p.write("out", u32, like=a)[i] = p.subgroup("inclusive_scan_add", a[i])
    show(golden, dialects, "subgroups", p.build(), "full", "shuffling", "rich")


def test_tables_and_control(golden, dialects):
    with program("lookup", (4, 2)) as p:
        text, table = p.read("text", u8), p.constant("table", i32, [-1, 0, 2147483647, -2147483648])
        out = p.write("out", i32, like=text)
        i = p.let(p.global_id(1) * 100 + p.global_id(0), name="i")
        with p.if_(i >= text.length):
            p.return_()
        state = p.var(0, i32, name="state")
        with p.range(0, 8, step=3, name="k") as k:
            with p.if_(text[i] == k.cast(u8)):
                p.continue_()
            state.set(table[(state.get().cast(u32) + k) & 3])
            with p.if_(state < 0):
                p.trap(k, "bad state")
                p.break_()
        out[i] = state.get()
    show(golden, dialects, "control", p.build(), "full")
