"""What is proven deterministic, what is not and for which statements, shape by shape.

Workgroups have 64 invocations unless a program says otherwise; a is an input, o an output, both as long as the launch.
"""

import os
import subprocess
import sys
from itertools import product
from random import Random

import pytest

from vyre_foundation.dtype import u32
from vyre_foundation.ir import Access, Buffer, Memory
from vyre_foundation.text import parse
from vyre_foundation.validate import validate

BUFFERS = """
  read a: u32[] @0; read_write o: u32[] @1; write few: u32[16] @2; scratch s: u32[len(a)] @3; uniform n: u32[1] @4;
  write eight: u32[len(a) * 8] @5; write image: u32[307200] @6;
  workgroup t: u32[128]; private v: u32[4];
"""
ONE, FLAT = "workgroup(64, 1, 1) subgroup(32)", "workgroup(16, 4, 1)"


def reasons(body, launch=ONE):
    facts = validate(parse(f"program p {launch} {{ {BUFFERS} {body} }}"))
    return [f"{r.code} {r.where}" for r in facts.determinism.reasons]


SAFE = {
    "own element": "o[global_id.x] = a[global_id.x];",
    "own element, read and written": "o[global_id.x] = o[global_id.x] * 3;",
    "own element, from the end": "if global_id.x < len(a) { o[len(a) - 1 - global_id.x] = 1; }",
    "own element, by workgroup and local id": "o[workgroup_id.x * 64 + local_id.x] = o[global_id.x];",
    "own element, bound to a local": "let i = global_id.x; let j = i; o[j] = a[i];",
    "own eight, guarded": "let i = global_id.x; if i < len(a) { eight[i * 8] = 1; eight[i * 8 + 7] = 2; }",
    "own eight, after an early return": "let i = global_id.x; if i >= len(a) { return; } eight[i << 3 | 5] = 1;",
    "own eight, in a loop": "let i = global_id.x; if i < len(a) { for k in 0..8 { eight[i * 8 + k] = k; } }",
    "own eight, in a loop that starts with them": (
        "let i = global_id.x; if i < len(a) { for k in i * 8..i * 8 + 8 { eight[k] = k; } }"
    ),
    "own eight, in a loop up to a counter that is 0 or 8": (
        "let i = global_id.x; let m = n[0]; if (i < len(a)) & (m <= 12) { "
        "for k in 0..m step 8 { for j in 0..k { eight[i * 8 + j] = k; } } }"
    ),
    "own element, wrapped around by an offset": "o[global_id.x + n[0]] = 1;",
    "own element, the conditions in a local": (
        "let ok = (global_id.x < 100) & (global_id.x != 7); if ok { o[global_id.x * 16] = 1; }"
    ),
    "own element of two, by the remainder": "o[global_id.x / 2 * 2 + global_id.x % 2] = 1;",
    "transposed by quotient and remainder": (
        "let i = global_id.x; if i < 6400 { let r = i / 80; let c = i % 80; o[c * 80 + r] = 1; }"
    ),
    "one invocation": "if global_id.x == 0 { few[0] = 1; few[0] = 2; }",
    "the last invocation": "if global_id.x == len(a) - 1 { few[0] = a[global_id.x]; }",
    "one of each workgroup": "if local_id.x == 0 { o[workgroup_id.x] = t[0]; }",
    "one of each workgroup, else": "if local_id.x != 0 { } else { o[workgroup_id.x] = t[0]; }",
    "one of each subgroup": "if subgroup_lane() == 0 { t[local_id.x >> 5] = 1; }",
    "one of each subgroup, by quotient": "if subgroup_lane() == 7 { o[global_id.x / 32] = 1; }",
    "workgroup memory at the local id": "t[local_id.x] = 1; t[local_id.x] = t[local_id.x] + 1;",
    "workgroup memory, two for each": "t[local_id.x * 2] = 1; t[local_id.x * 2 + 1] = 2;",
    "workgroup memory, by strides": "for i in local_id.x..128 step 64 { t[i] = i; }",
    "workgroup memory, halves": "t[local_id.x] = 1; t[local_id.x + 64] = 2;",
    "workgroup memory, all read one after a barrier": "t[local_id.x] = 1; barrier workgroup; let x = t[0];",
    "a step of a reduction": "if local_id.x < 32 { t[local_id.x] = t[local_id.x] + t[local_id.x + 32]; }",
    "a scan that reads, waits and writes": (
        "t[local_id.x] = 1; barrier workgroup; for k in 0..6 { let x = t[local_id.x - (1 << k)]; barrier workgroup; "
        "t[local_id.x] = t[local_id.x] + x; barrier workgroup; } o[global_id.x] = t[63];"
    ),
    "the result of a loop with barriers": ("for k in 0..6 { t[local_id.x] = k; barrier workgroup; } let x = t[0];"),
    "branches with barriers": (
        "if n[0] == 1 { t[local_id.x] = 1; barrier workgroup; } else { let x = t[0]; barrier workgroup; }"
    ),
    "scratch, within the workgroup after its barrier": (
        "s[global_id.x] = 1; barrier workgroup; o[global_id.x] = s[workgroup_id.x * 64 + 63 - local_id.x];"
    ),
    "scratch, anywhere after a grid barrier": "s[global_id.x] = 1; barrier grid; o[global_id.x] = s[global_id.x + 1];",
    "there and back in rounds": (
        "for i in 0..10 { s[global_id.x] = o[global_id.x + 1]; barrier grid; o[global_id.x] = s[global_id.x + 1]; "
        "barrier grid; }"
    ),
    "private memory": "v[0] = 1; let x = v[n[0]];",
    "a counter": "atomic add(few[0], 1);",
    "a histogram": (
        "atomic add(t[a[global_id.x] & 127], 1); barrier workgroup; "
        "for i in local_id.x..16 step 64 { atomic add(few[i], t[i]); }"
    ),
    "a result that nobody reads": "let old = atomic max(few[0], 1);",
    "a counter of one's own": "let old = atomic add(o[global_id.x], 1); o[global_id.x] = old;",
    "an exchange of one's own": "let old = atomic exchange(o[global_id.x], 1); few[16] = old;",
    "a mark": "atomic exchange(few[a[global_id.x] & 15], 1);",
    "a mark that the launch knows": "atomic exchange(few[a[global_id.x] & 15], n[0] + 1);",
    "marks in rounds": "for k in 0..4 { atomic exchange(few[a[k] & 15], 1); }",
    "two ops after one another": "atomic add(t[0], 1); barrier workgroup; atomic max(t[0], 7);",
    "two ops on elements apart": "atomic add(few[0], 1); atomic max(few[1], 7);",
    "out of bounds": "few[16] = 1;",
    "an output that is only read": "let x = o[3];",
}

FAILS = {
    "all store to one element": ("few[0] = 1;", ["D001 body[0]"]),
    "the neighbour's element": ("o[global_id.x] = o[global_id.x + 1];", ["D001 body[0]", "D002 body[0]"]),
    "eight without a guard wrap around": ("eight[global_id.x * 8] = 1;", ["D001 body[0]"]),
    "nine of eight": (
        "let i = global_id.x; if i < len(a) { for k in 0..9 { eight[i * 8 + k] = k; } }",
        ["D001 body[1].then[0].body[0]"],
    ),
    "an index from memory": ("o[a[global_id.x]] = 1;", ["D001 body[0]"]),
    "local id in storage": ("o[local_id.x] = 1;", ["D001 body[0]"]),
    "workgroup id": ("o[workgroup_id.x] = 1;", ["D001 body[0]"]),
    "half the id": ("o[global_id.x / 2] = 1;", ["D001 body[0]"]),
    "one of each workgroup in one element": ("if local_id.x == 0 { few[0] = 1; }", ["D001 body[0].then[0]"]),
    "an invocation that changes with time": (
        "for k in 0..4 { if global_id.x == k { few[0] = k; } }",
        ["D001 body[0].body[0].then[0]"],
    ),
    "an invocation that a mutable local selects": (
        "var k = 0; for i in 0..4 { if global_id.x == k { few[0] = k; } k = k + 1; }",
        ["D001 body[1].body[0].then[0]"],
    ),
    "a bound that a mutable local has lost": (
        "var k = 0; if k < 8 { k = 9; if global_id.x < 100 { eight[global_id.x * 8 + k] = 1; } }",
        ["D001 body[1].then[1].then[0]"],
    ),
    "two that select different invocations": (
        "if global_id.x == 0 { few[0] = 1; } if global_id.x == 1 { few[0] = 2; }",
        ["D001 body[0].then[0]", "D001 body[1].then[0]"],
    ),
    "workgroup memory without a barrier": (
        "t[local_id.x] = 1; let x = t[63 - local_id.x];",
        ["D001 body[0]", "D002 body[1]"],
    ),
    "a loop whose rounds meet": (
        "for k in 0..6 { barrier workgroup; t[local_id.x] = k; let x = t[k]; }",
        ["D001 body[0].body[1]", "D002 body[0].body[2]"],
    ),
    "a round and the next": (
        "for k in 0..6 { let x = t[k]; barrier workgroup; t[local_id.x] = k; }",
        ["D002 body[0].body[0]", "D001 body[0].body[2]"],
    ),
    "after a loop that may end before its barrier": (
        "for k in 0..6 { t[local_id.x] = k; if a[0] == 1 { break; } barrier workgroup; } let x = t[0];",
        ["D001 body[0].body[0]", "D002 body[1]"],
    ),
    "a barrier of the workgroup for the grid": (
        "s[global_id.x] = 1; barrier workgroup; o[global_id.x] = s[global_id.x + 1];",
        ["D001 body[0]", "D002 body[2]"],
    ),
    "there and back without waiting": (
        "for i in 0..10 { s[global_id.x] = o[global_id.x + 1]; barrier grid; o[global_id.x] = s[global_id.x + 1]; }",
        ["D001 body[0].body[0]", "D002 body[0].body[0]", "D001 body[0].body[2]", "D002 body[0].body[2]"],
    ),
    "a used counter": ("let old = atomic add(few[0], 1); o[global_id.x] = old;", ["D003 body[0]"]),
    "an exchange": ("atomic exchange(few[0], global_id.x);", ["D003 body[0]"]),
    "two marks": ("atomic exchange(few[0], 1); atomic exchange(few[0], 2);", ["D004 body[0]", "D004 body[1]"]),
    "a mark of the round": ("for k in 0..4 { atomic exchange(few[0], k); }", ["D003 body[0].body[0]"]),
    "a mark of the workgroup": ("atomic exchange(few[0], workgroup_id.x);", ["D003 body[0]"]),
    "a mark whose old value is used": (
        "let old = atomic exchange(few[0], 1); o[global_id.x] = old;",
        ["D003 body[0]"],
    ),
    "a mark that is read": ("atomic exchange(t[0], 1); let x = t[0];", ["D004 body[0]", "D002 body[1]"]),
    "a compare_exchange": ("atomic compare_exchange(few[0], global_id.x, expected = 0);", ["D003 body[0]"]),
    "two ops": ("atomic add(few[0], 1); atomic max(few[0], 7);", ["D004 body[0]", "D004 body[1]"]),
    "an atomic and a store": ("atomic add(few[0], 1); few[0] = 7;", ["D004 body[0]", "D001 body[1]"]),
    "an atomic and a load": ("atomic add(t[0], 1); let x = t[0];", ["D004 body[0]", "D002 body[1]"]),
}

IMAGES = {
    "a guarded row that workgroups do not divide": (
        "let x = global_id.x; let y = global_id.y; if x < 100 { if y < 90 { image[y * 100 + x] = 1; } }",
        [],
    ),
    "a guarded row that workgroups do not divide, after a return": (
        "if global_id.x >= 77 { return; } if global_id.y < 1000 { image[global_id.y * 77 + global_id.x] = 1; }",
        [],
    ),
    "every other element of a guarded row": (
        "if (global_id.x < 50) & (global_id.y < 90) { image[global_id.y * 100 + global_id.x * 2 + 1] = 1; }",
        [],
    ),
    "a guarded row that is one too long": (
        "if (global_id.x < 101) & (global_id.y < 90) { image[global_id.y * 100 + global_id.x] = 1; }",
        ["D001 body[0].then[0]"],
    ),
    "a guarded row without a guard of the other axis": (
        "if global_id.y < 90 { image[global_id.y * 100 + global_id.x] = 1; }",
        ["D001 body[0].then[0]"],
    ),
    "guarded on both axes": (
        "if (global_id.x < 640) & (global_id.y < 480) { image[global_id.y * 640 + global_id.x] = 1; }",
        [],
    ),
    "without a guard": ("image[global_id.y * 640 + global_id.x] = 1;", ["D001 body[0]"]),
    "guarded on one axis": (
        "if global_id.y < 480 { image[global_id.y * 640 + global_id.x] = 1; }",
        ["D001 body[0].then[0]"],
    ),
    "the linear id": ("image[global_id.y * (num_workgroups.x * 16) + global_id.x] = 1;", []),
    "the linear id of workgroup and local": (
        "image[(workgroup_id.y * num_workgroups.x + workgroup_id.x) * 64 + local_id.y * 16 + local_id.x] = 1;",
        [],
    ),
    "a wrong linear id": ("image[global_id.y * num_workgroups.x + global_id.x] = 1;", ["D001 body[0]"]),
    "x alone": ("image[global_id.x] = global_id.y;", ["D001 body[0]"]),
    "a tile": ("t[local_id.y * 16 + local_id.x] = 1; barrier workgroup; let x = t[local_id.x * 4 + local_id.y];", []),
    "a tile that overlaps": ("t[local_id.y * 15 + local_id.x] = 1;", ["D001 body[0]"]),
}


@pytest.mark.parametrize("shape", SAFE)
def test_proven(shape):
    assert reasons(SAFE[shape]) == []


@pytest.mark.parametrize("shape", FAILS)
def test_not_proven(shape):
    body, expected = FAILS[shape]
    assert reasons(body) == expected


@pytest.mark.parametrize("shape", IMAGES)
def test_two_axes(shape):
    body, expected = IMAGES[shape]
    assert reasons(body, FLAT) == expected


def test_proofs_of_guarded_images_hold():
    """Where a proof is found, no two invocations of a grid store to one element: all of them are asked."""
    rng, proven = Random(5), 0
    for _ in range(300):
        (sx, sy), w, h = rng.choice(((4, 2), (8, 4), (16, 1), (3, 5), (6, 2))), rng.randint(3, 20), rng.randint(2, 12)
        stride, k = max(1, w + rng.choice((-2, -1, 0, 0, 0, 1, 3, 7))), rng.choice((1, 1, 1, 2, 3))
        index = rng.choice((
            f"gy * {stride} + gx * {k} + 2", f"gx * {stride} + gy * {k}", f"(wy * {sy} + ly) * {stride} + gx * {k}",
            f"gy * {stride * k} + wx * {sx * k} + lx * {k}",
        ))  # fmt: skip
        guard = rng.choice((f"gx < {w}", "gx >= 0"))
        ids = {"gx": "global_id.x", "gy": "global_id.y", "wx": "workgroup_id.x", "wy": "workgroup_id.y",
               "lx": "local_id.x", "ly": "local_id.y"}  # fmt: skip
        body = f"if ({guard}) & (gy < {h}) {{ image[{index}] = 1; }}"
        for name, id in ids.items():
            body = body.replace(name, id)
        if reasons(body, f"workgroup({sx}, {sy}, 1)"):
            continue
        proven += 1
        owners = {}
        for x, y in product(range(6 * sx), range(14 * sy)):
            place = {"gx": x, "gy": y, "wx": x // sx, "wy": y // sy, "lx": x % sx, "ly": y % sy}
            if eval(guard, place) and y < h:
                assert owners.setdefault(eval(index, place), (x, y)) == (x, y), body
    assert proven > 60


@pytest.mark.parametrize(
    ("body", "axes"),
    [
        ("few[0] = local_id.y;", {0}),
        ("few[0] = global_id.y;", {0, 1}),
        ("few[0] = workgroup_id.z;", {0, 2}),
        ("few[0] = num_workgroups.y;", {0, 1}),
        ("", {0}),
    ],
)
def test_the_verdict_says_for_which_grids_it_is(body, axes):
    assert validate(parse(f"program p {FLAT} {{ {BUFFERS} {body} }}")).determinism.axes == axes


def test_a_workgroup_of_one_needs_no_barrier():
    alone = "workgroup(1, 1, 1)"
    assert reasons("t[0] = 1; let x = t[0]; t[x] = 2;", alone) == []
    assert reasons("o[workgroup_id.x] = 1;", alone) == []
    assert reasons("few[0] = 1;", alone) == ["D001 body[0]"]


def test_the_texts_of_reasons():
    facts = validate(parse(f"program p {ONE} {{ {BUFFERS} few[0] = 1; t[local_id.x] = 1; let x = t[0]; }}"))

    def sentence(access, other):
        remedy = "index it by the id of the invocation, put a barrier between, or use a commutative atomic"
        return (
            f"the {access} may meet {other}, by two invocations of one workgroup in one barrier interval. Fix: {remedy}"
        )

    assert [str(r) for r in facts.determinism.reasons] == [
        "D001 body[0]: " + sentence("store to 'few'", "itself"),
        "D001 body[1]: " + sentence("store to 't'", "the load at body[2]"),
        "D002 body[2]: " + sentence("load from 't'", "the store at body[1]"),
    ]


BOUNDS = {
    "eight[global_id.x * 8] = 1;": (ONE, "global_id.x < 536870912"),
    "let i = global_id.x * 8 + 7; eight[i] = 1; eight[i - 3] = 2;": (ONE, "global_id.x < 536870912"),
    "image[global_id.y * 640 + global_id.x] = 1;": (FLAT, "(global_id.x < 640) & (global_id.y < 6710886)"),
    "if global_id.y < 480 { image[global_id.y * 640 + global_id.x] = 1; }": (FLAT, "global_id.x < 640"),
    "let old = atomic add(eight[global_id.x * 8], 1); o[global_id.x] = old;": (ONE, "global_id.x < 536870912"),
    "t[local_id.y * 15 + local_id.x] = 1;": (FLAT, "local_id.x < 15"),
    "t[local_id.x * 67108864] = 1;": (ONE, None),
    "o[global_id.x / 2] = 1;": (ONE, None),
    "image[global_id.x] = global_id.y;": (FLAT, None),
    "few[0] = 1;": (ONE, None),
}


@pytest.mark.parametrize(("body", "expected"), BOUNDS.items())
def test_the_remedy_names_bounds_where_these_are_enough(body, expected):
    launch, bound = expected
    found = validate(parse(f"program p {launch} {{ {BUFFERS} {body} }}")).determinism.reasons
    remedies = {fix for reason in found if (fix := reason.fix.partition("; else ")[0]).startswith("bound the ids")}
    if bound is None:
        assert not remedies
        return
    assert remedies == {
        f"bound the ids, as their index may wrap around or reach another one's, as in if {bound}",
    }
    assert reasons(f"if {bound} {{ {body} }}", launch) == []


def test_reasons_do_not_depend_on_where_buffers_are_in_memory():
    """A statement that reads many buffers, whose declarations were made in another order each time."""
    texts = set()
    for seed in range(20):
        names = [f"s{seed}b{n}" for n in range(12)]
        made = [(name, number) for number, name in enumerate(names)]
        Random(seed).shuffle(made)
        alive = [Buffer(name, u32, Access.READ_WRITE, Memory.STORAGE, 8, number) for name, number in made]
        declared = " ".join(f"read_write {name}: u32[8] @{n};" for n, name in enumerate(names))
        stores = " ".join(f"{name}[0] = {n};" for n, name in enumerate(names))
        total = " + ".join(f"{name}[global_id.x * num_workgroups.x * len({name})]" for name in names)
        body = f"out[global_id.x] = {total}; {stores}"
        p = parse(f"program p workgroup(8) {{ {declared} write out: u32[8] @12; {body} }}")
        assert set(alive) < set(p.buffers)
        texts.add("\n".join(map(str, validate(p).determinism.reasons)).replace(f"s{seed}b", "b"))
    assert len(texts) == 1


def test_reasons_are_the_same_in_every_process():
    script = """
from vyre_foundation.testing import DEFAULT, generate
for seed in range(25):
    print(*generate(seed, DEFAULT).program.validate().determinism.reasons, sep="\\n")
"""
    outputs = set()
    for hash_seed in ("0", "1", "2"):
        environment = os.environ | {"PYTHONHASHSEED": hash_seed, "PYTHONMALLOC": "debug" if hash_seed == "2" else ""}
        run = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, check=True, env=environment
        )
        outputs.add(run.stdout)
    assert len(outputs) == 1
    assert "may meet" in outputs.pop()
