"""Which statements share a barrier interval: by hand, and never less than a walk over all ways of execution finds."""

from random import Random

import pytest

from vyre_foundation.dtype import bool_, u32
from vyre_foundation.ir.expr import Local, literal
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import Barrier, Break, Continue, For, If, Region, Return, Trap
from vyre_foundation.text import parse
from vyre_foundation.validate.determinism import phases as module
from vyre_foundation.validate.determinism.phases import find_phases
from vyre_foundation.validate.outline import outline


def meeting(body):
    """The tags of traps that can be in one interval, as pairs in order."""
    program = body if isinstance(body, Program) else parse(f"program p workgroup(1, 1, 1) {{ {body} }}")
    places = outline(program).places
    found = find_phases(outline(program), lambda _: True)
    traps = [place for place in places if isinstance(place.stmt, Trap)]
    together = {*found.meetings, *((b, a) for a, b in found.meetings)}
    return {
        a.stmt.tag + b.stmt.tag
        for a in traps
        for b in traps
        if a.stmt.tag <= b.stmt.tag and (found.stretch[a.number], found.stretch[b.number]) in together
    }


def trap(tag):
    return f'trap(0, "{tag}");'


A, B, C, D = map(trap, "abcd")
WAIT = "barrier workgroup;"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (f"{A} {B}", "aa ab bb"),
        (f"{A} {WAIT} {B}", "aa bb"),
        (f'{A} region "r" {{ {B} {WAIT} {C} }} {D}', "aa ab bb cc cd dd"),
        (f"if true {{ {A} }} else {{ {B} }}", "aa ab bb"),
        (f"if true {{ {A} {WAIT} }} else {{ {B} }} {C}", "aa bb bc cc"),
        (f"{A} if true {{ {WAIT} }} {B}", "aa ab bb"),
        (f"for i in 0..4 {{ {A} {WAIT} {B} }}", "aa ab bb"),
        (f"for i in 0..4 {{ {A} {WAIT} {B} {WAIT} }} {C}", "aa bb cc"),
        (f"{A} for i in 0..4 {{ {B} {WAIT} }} {C}", "aa ab ac bb cc"),
        (f"for i in 0..4 {{ {A} if true {{ break; }} {WAIT} {B} }} {C}", "aa ab ac bb bc cc"),
        # That `continue` comes before b, so that b and c do not meet, is lost: they are one stretch.
        (f"for i in 0..4 {{ {WAIT} {A} if true {{ continue; }} {B} {WAIT} }} {C}", "aa ab ac bb bc cc"),
        (f"for i in 0..4 {{ {A} }} {B}", "aa ab bb"),
        (f"for i in 0..4 {{ for j in 0..4 {{ {A} {WAIT} }} {B} }}", "aa ab bb"),
    ],
)
def test_by_hand(body, expected):
    assert meeting(body) == set(expected.split())


# ── all ways of execution ────────────────────────────────────────────────────────────────────────────────────────────


class Walk:
    """Runs a body with the decisions of `rng`, the same for all invocations; notes which traps share an interval."""

    def __init__(self, rng):
        self.rng = rng
        self.interval = set()
        self.met = set()

    def run(self, program):
        self.body(program.body)
        self.wait()
        return self.met

    def wait(self):
        self.met |= {a + b for a in self.interval for b in self.interval if a <= b}
        self.interval = set()

    def body(self, body):
        for stmt in body:
            match stmt:
                case Barrier():
                    self.wait()
                case Trap(_, tag):
                    self.interval.add(tag)
                case Break() | Continue() | Return():
                    return type(stmt)
                case Region(_, inner):
                    left = self.body(inner)
                case If(_, then, orelse):
                    left = self.body(then if self.rng.random() < 0.5 else orelse)
                case For(body=inner):
                    left = self.loop(inner)
            if isinstance(stmt, (Region, If, For)) and left is not None:
                return left
        return None

    def loop(self, inner):
        for _ in range(self.rng.randrange(3)):
            left = self.body(inner)
            if left is Return:
                return left
            if left is Break:
                return None
        return None


def drawn(rng):
    """A program of barriers and traps, nested at random."""
    names = iter("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
    loops = iter(range(99))

    def body(depth, in_loop):
        out = []
        for _ in range(rng.randint(1, 4)):
            draw = rng.random()
            if draw < 0.35 or depth == 3:
                tag = next(names, None)
                out += [Trap(literal(u32, 0), tag)] if tag else []
            elif draw < 0.6:
                out.append(Barrier())
            elif draw < 0.75:
                out.append(If(Local("c", bool_), body(depth + 1, in_loop), body(depth + 1, in_loop)))
            elif draw < 0.9:
                inner = body(depth + 1, True)
                out.append(For(f"i{next(loops)}", literal(u32, 0), literal(u32, 2), 1, inner))
            else:
                jump = rng.choice((Break, Continue, Return)) if in_loop else Return
                out.append(If(Local("c", bool_), (jump(),)))
        return tuple(out)

    return Program("p", (), (1, 1, 1), body(0, False))


@pytest.mark.parametrize("seed", range(60))
def test_no_way_of_execution_brings_others_together(seed):
    rng = Random(seed)
    program = drawn(rng)
    expected = meeting(program)
    for _ in range(60):
        assert Walk(rng).run(program) <= expected


def test_a_program_with_too_many_ways_is_taken_as_one_stretch(monkeypatch):
    monkeypatch.setattr(module, "MAX_STEPS", 1)
    assert meeting(f"{A} {WAIT} {B}") == {"aa", "ab", "bb"}
