"""Who shares a value, and who comes along: levels of expressions, and the matrix of barriers in divergent flow."""

import pytest

from vyre_foundation.ir.expr import Local
from vyre_foundation.text import parse
from vyre_foundation.validate import InvalidProgram, Uniformity, validate

LAUNCH, GRID, WORKGROUP, NONE = Uniformity.LAUNCH, Uniformity.GRID, Uniformity.WORKGROUP, Uniformity.NONE

BUFFERS = """
  read a: u32[] @0; read_write rw: u32[] @1; uniform u: u32[4] @2; scratch s: u32[16] @3; persistent k: u32[16] @4;
  constant c: u32[2] = hex "0100000002000000";
  workgroup w: u32[16]; private v: u32[16];
"""


def program(body, launch="workgroup(8, 2, 1) subgroup(4)"):
    return parse(f"program p {launch} {{ {BUFFERS} {body} }}")


def level(expression, launch="workgroup(8, 2, 1) subgroup(4)"):
    facts = validate(program(f"let x = {expression};", launch))
    return facts.uniformity[facts.program.body[0].value]


def level_of_local(body, name="x", launch="workgroup(8, 2, 1) subgroup(4)"):
    facts = validate(program(f"{body} let probe = {name};", launch))
    return facts.uniformity[Local(name, facts.locals[name])]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("7", LAUNCH),
        ("len(a)", LAUNCH),
        ("len(s) + num_workgroups.y", LAUNCH),
        ("subgroup_size()", LAUNCH),
        ("workgroup_id.x", WORKGROUP),
        ("global_id.x", NONE),
        ("local_id.y", NONE),
        ("local_id.z", LAUNCH),
        ("global_id.z", WORKGROUP),
        ("subgroup_lane()", NONE),
        ("a[0]", GRID),
        ("u[len(a)]", GRID),
        ("c[1]", GRID),
        ("a[workgroup_id.x]", WORKGROUP),
        ("a[local_id.x]", NONE),
        ("rw[0]", NONE),
        ("s[0]", NONE),
        ("k[0]", NONE),
        ("w[0]", NONE),
        ("v[0]", NONE),
        ("select(len(a) == 3, a[0], 7)", GRID),
        ("select(local_id.x == 3, a[0], 7)", NONE),
        ("bitcast<i32>(workgroup_id.x)", WORKGROUP),
    ],
)
def test_level_of_an_expression(expression, expected):
    assert level(expression) is expected


def test_a_workgroup_of_one_agrees_with_itself():
    for expression in ("global_id.x", "rw[0]", "v[local_id.x]"):
        assert level(expression, "workgroup(1, 1, 1)") is WORKGROUP
    assert level("subgroup_lane()", "workgroup(8, 1, 1) subgroup(1)") is LAUNCH


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("let x = a[0];", GRID),
        ("var x = 7;", GRID),
        ("var x = 7; x = workgroup_id.x;", WORKGROUP),
        ("var x = 7; x = local_id.x;", NONE),
        # An assignment that only some reach makes the value differ, whatever is assigned.
        ("var x = 7; if local_id.x == 0 { x = 8; }", NONE),
        ("var x = 7; if workgroup_id.x == 0 { x = 8; }", WORKGROUP),
        ("var x = 7; if len(a) == 0 { x = 8; }", GRID),
        ("var x = 7; if local_id.x == 0 { } else { x = 8; }", NONE),
        ('var x = 7; if a[0] == 0 { if local_id.x == 0 { region "r" { x = 8; } } }', NONE),
        # Carried by a loop, against the order of the text.
        ("var x = 7; var y = 7; for i in 0..4 { x = y; y = local_id.x; }", NONE),
        ("var x = 7; var y = 7; var z = 7; for i in 0..4 { x = y; y = z; z = global_id.x; }", NONE),
        ("var x = 7; for i in 0..4 { x = x + 1; }", GRID),
        ("var x = 7; for i in 0..a[0] { x = x + i; }", GRID),
        ("var x = 7; for i in 0..local_id.x { x = 8; }", NONE),
        ("var x = 7; for i in local_id.x..9 { x = 8; }", NONE),
        # Who has left a loop does not take part in later rounds, also not in what comes before the break.
        ("var x = 7; for i in 0..4 { x = x + 1; if local_id.x == i { break; } }", NONE),
        ("var x = 7; for i in 0..4 { x = x + 1; if a[i] == 0 { break; } }", GRID),
        ("var x = 7; for i in 0..4 { x = x + 1; if local_id.x == i { return; } }", NONE),
        # Who goes on to the next round only misses the rest of this one.
        ("var x = 7; for i in 0..4 { x = x + 1; if local_id.x == i { continue; } }", GRID),
        ("var x = 7; for i in 0..4 { if local_id.x == i { continue; } x = x + 1; }", NONE),
        ("var x = 7; for j in 0..4 { for i in 0..4 { if local_id.x == i { break; } } x = x + 1; }", GRID),
        ("var x = 7; if local_id.x == 0 { return; } x = 8;", NONE),
        ("let x = atomic add(rw[0], 1);", NONE),
        ("let x = subgroup reduce_add(1);", NONE),
    ],
)
def test_level_of_a_local(body, expected):
    assert level_of_local(body) is expected


def test_a_collective_of_the_whole_workgroup_is_the_same_for_all_of_it():
    whole = "workgroup(8, 1, 1) subgroup(8)"
    for collective in (
        "reduce_max(local_id.x)",
        "ballot(local_id.x == 3)",
        "any(local_id.x == 3)",
        "broadcast(w[0], 3)",
    ):
        assert level_of_local(f"let x = subgroup {collective};", launch=whole) is WORKGROUP
    for collective in ("inclusive_scan_add(1)", "shuffle(w[0], 3)", "shuffle_xor(w[0], 3)"):
        assert level_of_local(f"let x = subgroup {collective};", launch=whole) is NONE


def test_a_counter_is_as_uniform_as_its_bounds_and_its_loop():
    body = "for i in 0..{} {{ let x = i; {} }}"
    for bound, inside, expected in (
        ("len(a)", "", LAUNCH),
        ("a[0]", "", GRID),
        ("local_id.x", "", NONE),
        ("4", "if local_id.x == 2 { break; }", NONE),
        ("4", "if local_id.x == 2 { continue; }", LAUNCH),
    ):
        facts = validate(program(body.format(bound, inside)))
        assert facts.uniformity[Local("i", facts.locals["i"])] is expected


DIVERGENT = "local_id.x == 3"
UNIFORM = "a[workgroup_id.x] == 3"

# fmt: off
FLOWS = [
    # body with a condition and a barrier, whether the barrier is reached alike when the condition diverges
    ("if {c} {{ barrier workgroup; }}",                                                                False),
    ("if {c} {{ }} else {{ barrier workgroup; }}",                                                     False),
    ("if {c} {{ }} barrier workgroup;",                                                                True),
    ("if {c} {{ return; }} barrier workgroup;",                                                        False),
    ("if {c} {{ }} else {{ return; }} barrier workgroup;",                                             False),
    ("region \"r\" {{ if {c} {{ return; }} }} barrier workgroup;",                                     False),
    ("if a[0] == 1 {{ if {c} {{ return; }} }} barrier workgroup;",                                     False),
    ("barrier workgroup; if {c} {{ return; }}",                                                        True),
    ("for i in 0..4 {{ barrier workgroup; if {c} {{ return; }} }}",                                    False),
    ("for i in 0..4 {{ if {c} {{ return; }} }} barrier workgroup;",                                    False),
    ("for i in 0..4 {{ if {c} {{ break; }} }} barrier workgroup;",                                     True),
    ("for i in 0..4 {{ if {c} {{ break; }} barrier workgroup; }}",                                     False),
    ("for i in 0..4 {{ barrier workgroup; if {c} {{ break; }} }}",                                     False),
    ("for i in 0..4 {{ if {c} {{ continue; }} barrier workgroup; }}",                                  False),
    ("for i in 0..4 {{ barrier workgroup; if {c} {{ continue; }} }}",                                  True),
    ("for i in 0..4 {{ for j in 0..4 {{ if {c} {{ break; }} }} barrier workgroup; }}",                 True),
    ("for i in 0..4 {{ for j in 0..4 {{ if {c} {{ break; }} barrier workgroup; }} }}",                 False),
    ("var n = 4; if {c} {{ n = 5; }} for i in 0..n {{ barrier workgroup; }}",                          False),
    ("var n = 4; if {c} {{ n = 5; }} if n == 5 {{ barrier workgroup; }}",                              False),
    ("let f = {c}; if f {{ barrier workgroup; }}",                                                     False),
    ("var f = true; for i in 0..4 {{ if f {{ barrier workgroup; }} f = {c}; }}",                       False),
    ("var f = true; var g = true; for i in 0..4 {{ if f {{ barrier workgroup; }} f = g; g = {c}; }}",  False),
    ("for i in select({c}, 1, 2)..4 {{ barrier workgroup; }}",                                         False),
    ("let n = select({c}, 1, 2); for i in 0..4 {{ barrier workgroup; }}",                              True),
]
# fmt: on


def codes(body):
    """The codes of the findings, each once."""
    try:
        validate(program(body))
    except InvalidProgram as error:
        return sorted({finding.code for finding in error.findings})
    return []


@pytest.mark.parametrize(("flow", "expected"), FLOWS)
def test_a_barrier_in_divergent_flow(flow, expected):
    assert codes(flow.format(c=DIVERGENT)) == ([] if expected else ["V050"])


@pytest.mark.parametrize("flow", [flow for flow, _ in FLOWS])
def test_a_barrier_in_uniform_flow(flow):
    assert codes(flow.format(c=UNIFORM)) == []


@pytest.mark.parametrize(("flow", "expected"), FLOWS)
def test_a_collective_is_as_demanding_as_a_barrier(flow, expected):
    collective = flow.format(c=DIVERGENT).replace("barrier workgroup", "subgroup reduce_add(1)")
    assert codes(collective) == ([] if expected else ["V051"])


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (
            "if local_id.x == 0 { barrier workgroup; }",
            "got a barrier inside of body[0], whose condition may differ between invocations of a workgroup",
        ),
        (
            "for i in 0..local_id.x { if a[0] == 0 { barrier workgroup; } }",
            "got a barrier inside of body[0], whose bounds may differ between invocations of a workgroup",
        ),
        (
            "if local_id.x == 0 { return; } barrier workgroup;",
            "got a barrier after a return, break or continue that only some invocations of a workgroup may take",
        ),
    ],
)
def test_the_finding_says_why_the_flow_diverges(body, reason):
    with pytest.raises(InvalidProgram) as caught:
        validate(program(body))
    assert [f.message for f in caught.value.findings] == [reason]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("for i in 0..len(a) { for j in i..num_workgroups.x { barrier grid; } }", []),
        ('let n = len(a); region "r" { for i in 0..n { barrier grid; } }', []),
        ("for i in 0..workgroup_id.x { barrier grid; }", ["V053"]),
        ("for i in 0..local_id.x { barrier grid; }", ["V050", "V053"]),
        ("var n = 4; for i in 0..n { barrier grid; }", ["V053"]),
        ("for i in 0..4 { for j in 0..a[0] { barrier grid; } }", ["V053"]),
        ("for i in 0..4 { barrier grid; } if a[0] == 0 { return; }", []),
        ("for i in 0..4 { barrier grid; if a[0] == 0 { return; } }", ["V054"]),
        ("for i in 0..4 { barrier grid; for j in 0..4 { if a[j] == 0 { break; } } }", []),
        ("for i in 0..4 { barrier grid; if a[0] == 0 { continue; } }", ["V055"]),
        ("if len(a) == 0 { for i in 0..4 { barrier grid; } }", ["V052"]),
    ],
)
def test_where_a_grid_barrier_may_stand(body, expected):
    assert codes(body) == expected
