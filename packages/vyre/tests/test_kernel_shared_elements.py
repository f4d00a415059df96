"""Stores and updates of elements that several invocations share."""

import numpy as np
import pytest

import vyre as vy


def compile_it(function, shape="n"):
    return vy.kernel(shape=shape)(function).program


def refused(message, shape="n", fix=""):
    def add(function):
        REFUSED.append(pytest.param(function, shape, message, fix, id=function.__name__))
        return function

    return add


def accepted(shape="n"):
    def add(function):
        ACCEPTED.append(pytest.param(function, shape, id=function.__name__))
        return function

    return add


REFUSED: list = []
ACCEPTED: list = []
Numbers = vy.Array[vy.u32, "n"]
Image = vy.Array[vy.u32, "h", "w"]
One = vy.InOut[vy.u32, 1]


@refused(
    "all invocations store in o[0], and which of their values stays is undefined",
    fix="store in one of them, as in if vy.index() == 0, or give each an element of its own",
)
def store_of_data(x: Numbers, o: One):
    o[0] = x[vy.index()]


@refused(
    "all invocations store in o[0], and which of their values stays is undefined",
    fix="store in one of them, as in if i == 0, or give each an element of its own",
)
def store_of_the_index(x: Numbers, o: One):
    i = vy.index()
    if i < len(x):
        o[0] = i


@refused("all invocations store in o[k], and which of their values stays is undefined")
def store_in_a_loop(x: Numbers, o: vy.InOut[vy.u32, "m"]):
    for k in range(len(o)):
        o[k] = x[vy.index()]


@refused("all invocations store in o[k], and which of their values stays is undefined")
def store_in_a_while_loop(x: Numbers, o: vy.InOut[vy.u32, 4]):
    k = 0
    while k < 4:
        o[k] = x[vy.index()]
        k += 1


@vy.func
def put(array, value):
    array[0] = value


@refused("all invocations store in array[0], and which of their values stays is undefined")
def store_of_a_function(x: Numbers, o: One):
    put(o, x[vy.index()])


@refused(
    "several invocations store in o[y], and which of their values stays is undefined",
    shape=("h", "w"),
    fix="store in one of them, as in if z == 0, or give each an element of its own",
)
def store_of_a_row(x: Image, o: vy.InOut[vy.u32, "h"]):
    y, z = vy.index()
    if y > 0:
        o[y] = x[y, z]


@refused(
    "all invocations store in o[0], and which of their values stays is undefined",
    shape=("h", "w"),
    fix="store in one of them, as in if vy.index()[0] == 0 and vy.index()[1] == 0, or give each an element of its own",
)
def store_of_an_image(x: Image, o: One):
    o[0] = x[vy.index()]


@refused(
    "several invocations update o[y, 0] at once, and lose updates of others",
    shape=("h", "w"),
    fix=(
        "write an atomic, as in o.atomic_add((y, 0), x), or compute it outside of the kernel, as with"
        " vy.sum(x, axis=1), or in one invocation, as with @vy.kernel(shape='h')"
    ),
)
def update_of_a_row(x: Image, o: vy.InOut[vy.u32, "h", 2]):
    y, z = vy.index()
    o[y, 0] += x[y, z]


@refused("all invocations update o[0] at once, and lose updates of others")
def update_by_a_name(x: Numbers, o: One):
    before = o[0]
    o[0] = before + x[vy.index()]


@refused(
    "all invocations update o[k] at once, and lose updates of others",
    fix=(
        "write an atomic, as in o.atomic_max(k, x), or compute it outside of the kernel, as with vy.max(x), or in one"
        " invocation, as with @vy.kernel(shape=1)"
    ),
)
def update_by_a_maximum(x: Numbers, k: vy.u32, o: vy.InOut[vy.u32, "m"]):
    o[k] = vy.max(o[k], x[vy.index()])


@refused("several invocations update o[0] at once, and lose updates of others")
def update_under_a_condition(x: Numbers, o: One):
    i = vy.index()
    if i >= len(x):
        return
    if x[i] > 3:
        o[0] += 1


@refused("several invocations update o[0] at once, and lose updates of others")
def update_by_a_flag(x: Numbers, o: One):
    seen = False
    for k in range(3):
        if x[vy.index() + k] == 1:
            seen = True
    if seen:
        o[0] += 1


@refused(
    "several invocations update o[0] at once, and lose updates of others",
    fix="compute it outside of the kernel, as with vy.max(x), or in one invocation, as with @vy.kernel(shape=1)",
)
def update_by_a_comparison(x: vy.Array[vy.f32, "n"], o: vy.InOut[vy.f32, 1]):
    i = vy.index()
    if x[i] > o[0]:
        o[0] = x[i]


@refused("several invocations update o[0] at once, and lose updates of others")
def update_behind_a_return(x: Numbers, o: One):
    if x[vy.index()] == 0:
        return
    o[0] += 1


@refused(
    "all invocations of a workgroup update s[0] at once, and lose updates of others",
    fix=(
        "write an atomic, as in s.atomic_add(0, x), or do it in one invocation, as in if vy.local_id(0) == 0, in a loop"
    ),
)
def update_of_a_workgroup(x: Numbers, o: vy.Out[vy.u32, "n"]):
    s = vy.workgroup(vy.u32, 1)
    s[0] += x[vy.index()]
    vy.barrier()
    o[vy.index()] = s[0]


@accepted()
def store_of_one_value(x: Numbers, o: One):
    o[0] = x[0]


@accepted()
def store_of_a_length(x: Numbers, o: vy.Out[vy.u32, "n"], n: vy.Out[vy.u32, 1]):
    o[vy.index()] = x[vy.index()]
    n[0] = len(x)


@accepted()
def store_of_a_sum(x: Numbers, o: One):
    total = vy.u32(0)
    for k in range(len(x)):
        total += x[k]
    o[0] = total


@accepted()
def store_in_one_invocation(x: Numbers, o: One):
    i = vy.index()
    if i == len(x) - 1:
        o[0] = x[i]


@accepted()
def store_of_a_mark(x: Numbers, o: One):
    if x[vy.index()] > 3:
        o[0] = 1


@accepted()
def store_of_a_match(x: Numbers, key: vy.u32, o: One):
    i = vy.index()
    if x[i] == key:
        o[0] = i


@accepted()
def store_of_private_memory(x: Numbers, o: One):
    kept = vy.private(vy.u32, 2)
    kept[0] = x[0]
    o[0] = kept[0]


@accepted()
def scattered_stores(x: Numbers, o: vy.InOut[vy.u32, 4]):
    i = vy.index()
    o[i % 4] = x[i]


@accepted(shape=("h", "w"))
def store_of_one_column(x: Image, o: vy.InOut[vy.u32, "h"]):
    y, z = vy.index()
    if z == 0:
        o[y] = x[y, z]


@accepted(shape=("h", 1))
def rows_of_one(x: vy.Array[vy.u32, "h", 1], o: vy.InOut[vy.u32, "h"]):
    y, z = vy.index()
    o[y] = x[y, z]


@accepted()
def update_in_one_invocation(x: Numbers, o: One):
    if vy.index() >= 1:
        return
    for k in range(len(x)):
        o[0] += x[k]


@accepted()
def update_where_not(x: Numbers, o: One):
    i = vy.index()
    if not i:
        o[0] += x[i]


@accepted()
def update_by_the_flag_of_an_index(x: Numbers, o: One):
    is_first = False
    if vy.index() == 3:
        is_first = True
    if is_first:
        o[0] += x[vy.index()]


@accepted(shape=1)
def one_invocation(x: Numbers, o: One):
    for k in range(len(x)):
        o[0] += x[k]


@accepted()
def update_in_the_last_one(x: Numbers, o: One, tickets: One):
    if tickets.atomic_add(0, 1) == len(x) - 1:
        o[0] += x[0]


@accepted()
def update_in_one_of_a_workgroup(x: Numbers, o: vy.Out[vy.u32, "n"]):
    s = vy.workgroup(vy.u32, 1)
    if vy.local_id(0) == 0:
        s[0] += x[vy.index()]
    vy.barrier()
    o[vy.index()] = s[0]


@accepted()
def own_elements(x: Numbers, o: vy.InOut[vy.u32, "n"]):
    i = vy.index()
    if x[i] > 3:
        o[i] += x[i]


@pytest.mark.parametrize(("function", "shape", "message", "fix"), REFUSED)
def test_lost_stores_are_refused(function, shape, message, fix):
    with pytest.raises(vy.KernelError) as error:
        compile_it(function, shape)
    assert error.value.message == message
    assert fix in ("", error.value.fix)


@pytest.mark.parametrize(("function", "shape"), ACCEPTED)
def test_stores_that_may_be_right_are_accepted(function, shape):
    compile_it(function, shape)


def test_only_invocations_of_one_workgroup_share_its_memory():
    def update(x: Image, o: vy.Out[vy.u32, "h", "w"]):
        y, x_ = vy.index()
        row = vy.workgroup(vy.u32, 8)
        row[x_ % 8] = x[y, x_]
        row[x_ % 8] += 1
        o[y, x_] = row[x_ % 8]

    for size in ((8,), (8, 1)):
        kernel = vy.kernel(shape=("h", "w"), workgroup_size=size)(update)
        assert np.array_equal(kernel(np.full((3, 16), 4, np.uint32)), np.full((3, 16), 5))
    with pytest.raises(vy.KernelError, match=r"several invocations of a workgroup update row\[x_ % 8\] at once"):
        vy.kernel(shape=("h", "w"), workgroup_size=(8, 2))(update).program


def test_the_race_of_several_matches_is_found():
    x = np.array([1, 5, 2, 5], np.uint32)
    program = vy.kernel(shape="n")(store_of_a_match).program
    with pytest.raises(vy.VyreError, match="o\\[0\\]"):
        vy.check(program, x=x, key=np.uint32(5), o=np.zeros(1, np.uint32))
    vy.check(program, x=x, key=np.uint32(2), o=np.zeros(1, np.uint32))
