"""Names that begin as numbers without a type, and are changed in branches and loops: beside Python."""

import math

import numpy as np
import pytest

import vyre as vy

DATA = [3, 1, 4, 1, 5, 9, 2, 6]


def place_of_the_greatest(x, i):
    best, place = x[0], 0
    for k in range(1, len(x)):
        if x[k] > best:
            best, place = x[k], k
    return place


def number_before_a_branch(x, i):
    r = 3
    if x[i] > 2:
        r = x[i] * 10
    return r


def number_before_branches(x, i):
    r = 3
    if x[i] > 4:
        r = x[i]
    elif x[i] > 2:
        r = x[i] + 100
    return r


def number_before_nested_branches(x, i):
    r = 3
    if x[i] > 1:
        if x[i] > 4:
            r = x[i]
        else:
            r = 7
    return r


def flag_that_a_loop_sets(x, i):
    found = False
    for k in range(len(x)):
        if x[k] == x[i] + 1:
            found = True
    return 1 if found else 0


def flag_before_a_break(x, i):
    found = False
    for k in range(len(x)):
        if x[k] > x[i]:
            found = True
            break
    return 1 if found else 0


def flag_before_a_continue(x, i):
    n, seen = x[i] * 0, False
    for k in range(len(x)):
        if x[k] == 1:
            seen = True
            continue
        n += 1 if seen else 10
    return n


def flag_that_begins_true(x, i):
    first, n = True, 0
    for k in range(len(x)):
        if first:
            n = x[k] + 7
        first = False
    return n


def flag_in_a_branch(x, i):
    is_great = False
    if x[i] > 3:
        is_great = True
    return 5 if is_great else 6


def flag_in_the_condition(x, i):
    done, n = False, x[i] * 0
    while vy.bounded(not done, 20):
        n += 1
        if n > x[i]:
            done = True
    return n


def sum_from_nothing(x, i):
    total = 0
    for k in range(len(x)):
        total += x[k] * k
    return total


def nested_loops(x, i):
    best, at = 0, 0
    for j in range(3):
        for k in range(len(x)):
            if x[k] * (j + 1) > best:
                best, at = x[k] * (j + 1), k + j * 100
    return best * 1000 + at


def loop_in_an_unrolled_loop(x, i):
    s = 0
    for weight in (2, 3):
        t = 1
        for k in range(len(x)):
            t += x[k] * weight
        s += t
    return s


def number_that_is_used_again(x, i):
    t = 5
    y = x[i] + t
    for k in range(3):
        t = x[k] * 2
        y += t
    return y


def branch_that_is_not_read(x, i):
    scale = 2
    for k in range(3):
        if scale == 3:
            scale = x[k]
    return x[i] * scale


def several_kinds(x, i):
    pair = (0, x[i])
    for k in range(len(x)):
        if x[k] > pair[1]:
            pair = (k, x[k])
    return pair[0] * 100 + pair[1]


def comprehension_of_the_same_name(x, i):
    k, n = 3, x[i]
    for j in range(2):
        n += sum([k * x[j] for k in (1, 2)])
        k = n
    return n + k


def loop_that_may_return(x, i):
    place = 7
    for k in range(len(x)):
        if x[k] == x[i]:
            return place
        place = k
    return place


def early_return_under_a_known_condition(x, i):
    is_fast = True
    if is_fast:
        if x[i] > 3:
            return x[i] * 2
    return x[i]


def unrolled_return_under_a_known_condition(x, i):
    is_fast = True
    if not is_fast:
        return x[0]
    else:
        for low in (4, 2):
            if x[i] > low:
                return x[i] * low
    return x[i]


def return_in_a_loop_that_is_not_read(x, i):
    is_slow = False
    for k in range(len(x)):
        if is_slow:
            return x[k]
    if x[i] > 3:
        return x[i] + 1
    return x[i]


def downwards(x, i):
    s = 0
    for k in range(len(x) - 1, -1, -1):
        s = s * 3 + x[k]
    return s


def downwards_by_two(x, i):
    s = 0
    for k in range(i, 0, -2):
        s = s * 3 + x[k] + k
    return s


def downwards_to_a_value(x, i):
    s = 0
    for k in range(len(x), i, -3):
        s = s * 3 + k
    return s


def list_that_is_changed(x, i):
    found = [x[0], x[1]]
    found[0] = found[1] + x[i]
    found[1] += 5
    for k in (2, 3):
        found.append(x[k])
    return found[0] + found[1] * 10 + found[3] * 100


FUNCTIONS = [
    place_of_the_greatest, number_before_a_branch, number_before_branches, number_before_nested_branches,
    flag_that_a_loop_sets, flag_before_a_break, flag_before_a_continue, flag_that_begins_true, flag_in_a_branch,
    flag_in_the_condition, sum_from_nothing, nested_loops, loop_in_an_unrolled_loop, number_that_is_used_again,
    branch_that_is_not_read, several_kinds, comprehension_of_the_same_name, loop_that_may_return,
    downwards, downwards_by_two, downwards_to_a_value, list_that_is_changed, early_return_under_a_known_condition,
    unrolled_return_under_a_known_condition, return_in_a_loop_that_is_not_read,
]  # fmt: skip


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_a_name_means_what_it_means_in_python(function, monkeypatch: pytest.MonkeyPatch) -> None:
    inlined = vy.func(function)

    @vy.kernel
    def run(x: vy.Array[vy.u32, "n"]) -> vy.Array[vy.u32, "n"]:
        return inlined(x, vy.index())

    found = run.on("reference")(np.array(DATA, np.uint32)).tolist()
    monkeypatch.setattr(vy, "bounded", lambda condition, _: condition)
    assert found == [function(DATA, i) for i in range(len(DATA))]


@pytest.mark.parametrize("dtype", [vy.u32, vy.i32, vy.i64], ids=str)
def test_a_loop_downwards_counts_in_the_type_of_its_start(dtype: vy.DType) -> None:
    @vy.kernel
    def run(x: vy.Array[dtype, "n"]) -> vy.Array[dtype, "n"]:
        s = 0
        for k in range(x[vy.index()], -1, -2):
            s = s * 3 + k
        return s

    starts = np.array([0, 1, 6, 7] if dtype is vy.u32 else [-5, -1, 0, 1, 6, 7], dtype.numpy)
    expected = []
    for start in starts.tolist():
        s = 0
        for k in range(start, -1, -2):
            s = s * 3 + k
        expected.append(s)
    assert run.on("reference")(starts).tolist() == expected


def test_a_loop_downwards_over_no_elements_does_not_run() -> None:
    @vy.kernel(shape=1)
    def run(x: vy.Array[vy.u32, "n"], out: vy.Out[vy.u32, 1]) -> None:
        s = vy.u32(7)
        for k in range(len(x) - 1, -1, -1):
            s += x[k]
        out[0] = s

    assert run.on("reference")(np.zeros(0, np.uint32)).tolist() == [7]


def test_a_mask_may_be_negative() -> None:
    @vy.kernel
    def aligned(x: vy.Array[vy.u64, "n"]) -> vy.Array[vy.u64, "n"]:
        return x[vy.index()] & ~15

    x = np.array([0, 15, 16, 2**64 - 1], np.uint64)
    assert aligned.on("reference")(x).tolist() == [0, 0, 16, 2**64 - 16]


def test_a_float_without_a_type_takes_that_of_what_it_gets() -> None:
    @vy.kernel
    def least(x: vy.Array[vy.f64, "n"]) -> vy.Array[vy.f64, "n"]:
        low = math.inf
        for k in range(len(x)):
            low = vy.min(low, x[k])
        return low

    x = np.array([2.5, -1.25, 7], np.float64)
    assert least.on("reference")(x).tolist() == [-1.25] * 3


@vy.struct
class Best:
    value: vy.u32 = 0
    place: vy.u32 = 0


def test_a_structure_of_numbers_is_changed_by_parts() -> None:
    @vy.kernel
    def greatest(x: vy.Array[vy.u32, "n"]) -> vy.Array[vy.u32, "n"]:
        best = Best()
        for k in range(len(x)):
            if x[k] > best.value:
                best.value = x[k]
                best.place = k
        return best.place * 100 + best.value

    assert greatest.on("reference")(np.array(DATA, np.uint32)).tolist() == [509] * len(DATA)


GRÖSSEN = np.float32([1, 2])
__SIZES = np.float32([3, 4])


@vy.kernel
def größe(x: vy.Array[vy.f32, "länge"]) -> vy.Array[vy.f32, "länge"]:
    größen = vy.private(vy.f32, 2)
    __sizes = vy.private(vy.f32, 2)
    größen[0] = GRÖSSEN[vy.index()]
    __sizes[0] = __SIZES[vy.index()]
    σ = x[vy.index()]
    for κ in range(2):
        σ += größen[κ] + __sizes[κ]
    return σ


def test_what_a_kernel_alone_names_has_any_name_of_python() -> None:
    assert größe(np.float32([10, 20])).tolist() == [14, 26]
    assert [b.name for b in größe.program.buffers] == ["x", "out", "array", "array.2", "array.3", "array.4"]


@vy.kernel
def of_other_letters(größe: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
    return größe[vy.index()]


def test_parameters_are_names_of_the_language() -> None:
    with pytest.raises(vy.VyreError, match=r"V003 .*got the name 'größe', expected ASCII letters, digits, _ and dots"):
        of_other_letters(np.float32([1]))
