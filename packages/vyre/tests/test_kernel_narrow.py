"""Sums, products and digits of narrow integers, where a type that is too narrow changes the result without an error."""

from collections import namedtuple
from dataclasses import dataclass

import numpy as np
import pytest

import vyre as vy

X = np.random.default_rng(5).integers(0, 256, 64, np.uint8)
TABLE = np.arange(511, dtype=np.uint16)
SMALL = np.arange(256, dtype=np.uint16)


def message_of(function, *, shape=None) -> str:
    with pytest.raises(vy.KernelError) as error:
        _ = (vy.kernel(function) if shape is None else vy.kernel(shape=shape)(function)).program
    return str(error.value)


# ── indices ──


def of_a_table(x: vy.Array[vy.u8, "n"]) -> vy.Array[vy.u16, "n"]:
    i = vy.index()
    return TABLE[x[i] + x[i + 1]]


def of_an_array(x: vy.Array[vy.u8, "n"], table: vy.Array[vy.u16, "n", 511]) -> vy.Array[vy.u16, "n"]:
    i = vy.index()
    return table[i, x[i] * 2 + x[i + 1]]


def of_an_atomic(x: vy.Array[vy.u8, "n"], counts: vy.InOut[vy.u32, 511]) -> None:
    i = vy.index()
    counts.atomic_add(x[i] + x[i + 1], 1)


def of_a_store(x: vy.Array[vy.i8, "n"], out: vy.Out[vy.u32, 300]) -> None:
    i = vy.index()
    out[(x[i] << 2) + 3] = 1


@pytest.mark.parametrize(
    ("function", "fix"),
    [
        (of_a_table, "vy.u32(x[i]) + vy.u32(x[i + 1])"),
        (of_an_array, "vy.u32(x[i]) * 2 + vy.u32(x[i + 1])"),
        (of_an_atomic, "vy.u32(x[i]) + vy.u32(x[i + 1])"),
        (of_a_store, "(vy.i32(x[i]) << 2) + 3"),
    ],
)
def test_an_index_that_wraps_before_the_end_of_the_axis_is_refused(function, fix: str) -> None:
    message = message_of(function, shape="n" if function in (of_an_atomic, of_a_store) else None)
    assert "is computed in" in message
    assert message.endswith(f"Fix: convert before it wraps, as in {fix}")


def test_the_index_of_a_name_is_converted_where_it_is_computed() -> None:
    def function(x: vy.Array[vy.u8, "n"]) -> vy.Array[vy.u16, "n"]:
        i = vy.index()
        both = x[i] + x[i + 1]
        return TABLE[both]

    assert message_of(function).endswith("Fix: convert what it is computed from, as in vy.u32(x[i])")


def test_an_index_that_reaches_the_end_may_wrap() -> None:
    """As in RC4, whose indices are sums modulo the length of the table."""

    @vy.kernel
    def looked_up(x: vy.Array[vy.u8, "n"], any_length: vy.Array[vy.u16, "m"]) -> vy.Array[vy.u16, "n"]:
        i = vy.index()
        return SMALL[x[i] + x[i + 1]] + any_length[x[i] + x[i + 1]] + TABLE[x[i]] + TABLE[x[i] >> 1] + TABLE[x[i] - 1]

    following = np.append(X[1:], np.uint8(0))
    expected = 2 * SMALL[X + following] + TABLE[X] + TABLE[X >> 1] + TABLE[X - np.uint8(1)]
    assert np.array_equal(looked_up(X, SMALL), expected)


@pytest.mark.parametrize("index", ["-i", "-i - 1", "~i"])
def test_an_index_from_the_end_is_refused(index: str, tmp_path) -> None:
    source = "import vyre as vy\n@vy.kernel\ndef last(x: vy.Array[vy.u8, 'n']) -> vy.Array[vy.u8, 'n']:\n"
    file = tmp_path / "last.py"
    file.write_text(f"{source}    i = vy.index()\n    return x[{index}]\n")
    scope: dict[str, object] = {"__name__": "last"}
    exec(compile(file.read_text(), str(file), "exec"), scope)
    with pytest.raises(vy.KernelError, match=r"an index of 'x' is below 0.*\n.*\n.*\nFix: indices do not count from"):
        _ = scope["last"].program  # type: ignore[attr-defined]


# ── digits ──


def shifted(x: vy.Array[vy.u8, "n"]) -> vy.Array[vy.u32, "n"]:
    code = 0
    for k in range(5):
        code = (code << 2) | x[vy.index() + k]
    return code


def multiplied(x: vy.Array[vy.u16, "n"]) -> vy.Array[vy.u32, "n"]:
    code = 7
    for k in range(5):
        code = code * 10 + (x[vy.index() + k] - 48)
    return code


def in_two_steps(x: vy.Array[vy.i16, "n"]) -> vy.Array[vy.i32, "n"]:
    code = 0
    for k in range(5):
        code *= 10
        code += x[vy.index() + k]
    return code


def while_there_are(x: vy.Array[vy.u8, "n"]) -> vy.Array[vy.u32, "n"]:
    code = 0
    while vy.bounded(x[vy.index()] > 7, 9):
        code = x[vy.index()] + 3 * code
    return code


@pytest.mark.parametrize(
    ("function", "fix"),
    [
        (shifted, "code = vy.u32(0), or vy.u8"),
        (multiplied, "code = vy.u32(7), or vy.u16"),
        (in_two_steps, "code = vy.i32(0), or vy.i16"),
        (while_there_are, "code = vy.u32(0), or vy.u8"),
    ],
)
def test_digits_in_a_number_without_a_type_are_refused_where_they_would_wrap(function, fix: str) -> None:
    message = message_of(function)
    assert "'code' begins with a number without a type, and takes" in message
    assert message.endswith(f"Fix: give it a type before the loop, as in {fix} where it is to wrap")


def test_what_a_narrow_variable_may_do() -> None:
    """Counts, checksums and CRCs are not refused: they are small, or are meant modulo 2**8."""

    @vy.kernel
    def crc8(x: vy.Array[vy.u8, "n"]) -> tuple[vy.Array[vy.u8, "n"], vy.Array[vy.u8, "n"], vy.Array[vy.u8, "n"]]:
        i = vy.index()
        crc, total, typed = 0, 0, vy.u8(0)
        for k in range(3):
            crc ^= x[i + k]
            total += x[i + k]
            typed = typed * 31 + x[i + k]
            for _ in range(8):
                crc = (crc << 1) ^ 7 if crc & 128 else crc << 1
        return crc, total, typed

    def expected(values: list[int]) -> tuple[int, int, int]:
        crc = total = typed = 0
        for value in values:
            crc, total, typed = crc ^ value, (total + value) & 255, (typed * 31 + value) & 255
            for _ in range(8):
                crc = ((crc << 1) ^ 7 if crc & 128 else crc << 1) & 255
        return crc, total, typed

    padded = [*X.tolist(), 0, 0]
    found = zip(*(part.tolist() for part in crc8(X)), strict=True)
    assert list(found) == [expected(padded[i : i + 3]) for i in range(64)]


# ── products of fixed-point numbers ──


def q15(x: vy.Array[vy.i16, "n"], gain: vy.i16) -> vy.Array[vy.i16, "n"]:
    return (x[vy.index()] * gain + (1 << 14)) >> 15


def q31(x: vy.Array[vy.i32, "n"], gain: vy.i32) -> vy.Array[vy.i32, "n"]:
    return x[vy.index()] * gain >> 31


def q63(x: vy.Array[vy.i64, "n"], gain: vy.i64) -> vy.Array[vy.i64, "n"]:
    return x[vy.index()] * gain >> 63


@pytest.mark.parametrize(
    ("function", "fix"),
    [
        (q15, "convert before, as in vy.i32(x[vy.index()]) * vy.i32(gain) + (1 << 14) >> 15"),
        (q31, "convert before, as in vy.i64(x[vy.index()]) * vy.i64(gain) >> 31"),
        (q63, "write vy.mul_high(x, y), which gives the upper half of the product"),
    ],
)
def test_the_sign_of_a_product_is_refused(function, fix: str) -> None:
    message = message_of(function)
    assert "which leaves only its sign" in message
    assert message.endswith(f"Fix: {fix}")


def test_the_remedy_for_a_product_gives_it() -> None:
    @vy.kernel
    def scaled(x: vy.Array[vy.i16, "n"], gain: vy.i16) -> vy.Array[vy.i32, "n"]:
        return vy.i32(x[vy.index()]) * vy.i32(gain) + (1 << 14) >> 15

    x = np.array([-32768, 32767, 1, -1], np.int16)
    assert scaled(x, -32768).tolist() == [(int(v) * -32768 + 16384) >> 15 for v in x]

    @vy.kernel
    def signs(x: vy.Array[vy.i16, "n"]) -> tuple[vy.Array[vy.i16, "n"], vy.Array[vy.i16, "n"], vy.Array[vy.i16, "n"]]:
        v = x[vy.index()]
        return v >> 15, v * 3 >> 15, v * v >> 14

    assert [part.tolist() for part in signs(x)] == [
        (x >> 15).tolist(), (x * np.int16(3) >> 15).tolist(), (x * x >> 14).tolist(),
    ]  # fmt: skip


# ── shifts ──


@pytest.mark.parametrize("value", [np.uint8, np.int8, np.uint16, np.int32, np.uint64])
@pytest.mark.parametrize("count", [np.uint8, np.int16, np.uint32, np.int64])
def test_the_count_of_a_shift_to_the_right_may_have_any_type(value: type, count: type) -> None:
    @vy.kernel
    def shifted(x: vy.Array[value, "n"], k: vy.Array[count, "n"]) -> tuple[vy.Array[value, "n"], vy.Array[value, "n"]]:
        i = vy.index()
        y = x[i]
        y >>= k[i]
        return x[i] >> k[i], y

    ends = np.iinfo(count)
    k = np.array([0, 1, 7, 8, 63, 64, 65, 100, ends.max, ends.min, -1 if ends.min else ends.max - 1], count)
    x = np.full(k.size, np.iinfo(value).max - 3 if np.iinfo(value).min == 0 else np.iinfo(value).min + 3, value)
    expected = [int(v) >> (int(n) % np.iinfo(value).bits) for v, n in zip(x, k, strict=True)]
    for found in shifted(x, k):
        assert found.dtype == value
        assert found.tolist() == expected


def test_the_count_of_a_shift_to_the_left_has_the_type_of_the_value() -> None:
    def packed(x: vy.Array[vy.u8, "n"]) -> vy.Array[vy.u32, "n"]:
        i = vy.index()
        return x[i] << (2 * i)

    assert message_of(packed).endswith("Fix: convert one of them, as in vy.u32(x[i])")


@pytest.mark.parametrize(
    ("sign", "fix"), [("+", "vy.u32(x[i] > 1)"), ("*", "vy.u32(x[i] > 1)"), ("-", "vy.i32(x[i] > 1)")]
)
def test_truth_values_are_converted_before_they_are_added(sign: str, fix: str, tmp_path) -> None:
    for operand in ("(x[i] > 2)", "2"):
        file = tmp_path / f"truth{len(operand)}.py"
        file.write_text(
            "import vyre as vy\n@vy.kernel\ndef added(x: vy.Array[vy.i32, 'n']) -> vy.Array[vy.u32, 'n']:\n"
            f"    i = vy.index()\n    return (x[i] > 1) {sign} {operand}\n"
        )
        scope: dict[str, object] = {"__name__": "truth"}
        exec(compile(file.read_text(), str(file), "exec"), scope)
        with pytest.raises(vy.KernelError) as error:
            _ = scope["added"].program  # type: ignore[attr-defined]
        assert f"got a truth value as an operand of `{sign}`" in str(error.value)
        assert str(error.value).endswith(f"Fix: convert it, as in {fix}")

    def counted(x: vy.Array[vy.i32, "n"]) -> vy.Array[vy.u32, "n"]:
        count = 0
        for k in range(4):
            count += x[k] > 1
        return count

    assert message_of(counted).endswith("Fix: convert it, as in vy.u32(x[k] > 1)")

    @vy.kernel
    def fixed(x: vy.Array[vy.i32, "n"]) -> vy.Array[vy.u32, "n"]:
        count = 0
        for k in range(4):
            count += vy.u32(x[k] > 1)
        return count

    assert fixed(np.arange(4, dtype=np.int32)).tolist() == [2] * 4


LETTERS = b"ACGT"


def test_bytes_are_a_table() -> None:
    @vy.kernel
    def letters(packed: vy.Array[vy.u8, "n"]) -> vy.Array[vy.u8, "n", 4]:
        i, k = vy.index()
        return LETTERS[packed[i] >> (6 - 2 * k) & 3]

    packed = X[:9]
    bases = packed[:, None] >> np.uint8([6, 4, 2, 0]) & 3
    assert letters(packed).tobytes() == bytes(LETTERS[base] for base in bases.ravel())
    assert vy.decode(letters.program.encode()) == letters.program


# ── remedies ──


def test_the_remedy_for_what_may_have_wrapped_is_to_convert_before() -> None:
    def half(x: vy.Array[vy.u8, "n"]) -> vy.Array[vy.f32, "n"]:
        i = vy.index()
        return (x[i] + x[i + 1]) // 2

    def added(x: vy.Array[vy.u8, "n"]) -> vy.Array[vy.u32, "n"]:
        total = 0
        for k in range(8):
            total += x[vy.index() + k]
        return total

    def beside(x: vy.Array[vy.u8, "n"], y: vy.Array[vy.u32, "n"]) -> vy.Array[vy.u32, "n"]:
        i = vy.index()
        return y[i] + (x[i] + x[i + 1]) // 2

    def beside_floats(x: vy.Array[vy.i8, "n"], y: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
        i = vy.index()
        return y[i] + (x[i] * x[i + 1] >> 2)

    for function in (half, added):
        assert "Fix: convert what it is computed from with .cast(" in message_of(function)
    assert message_of(beside).endswith("Fix: convert one of them, as in (vy.u32(x[i]) + vy.u32(x[i + 1])) // 2")
    assert message_of(beside_floats).endswith("as in vy.f32(vy.i32(x[i]) * vy.i32(x[i + 1]) >> 2)")

    def plain(x: vy.Array[vy.u8, "n"]) -> vy.Array[vy.u32, "n"]:
        return x[vy.index()] >> 1

    assert message_of(plain).endswith("Fix: convert it with .cast(vy.u32)")


# ── numbers below 0 beside unsigned values, and ranges backwards ──


@vy.kernel
def neighbours(x: vy.Array[vy.i32, "n"]) -> vy.Array[vy.i32, "n"]:
    i, total = vy.index(), vy.i32(0)
    for step in (-2, -1, 0, 1):
        total = total * 3 + x[step + i] - x[i + step] + x[-1 + len(x)]
    return total


def test_a_negative_number_may_stand_before_an_unsigned_value() -> None:
    x = np.arange(1, 9, dtype=np.int32)
    assert neighbours(x).tolist() == [8 * 40] * 8


def test_a_number_below_0_less_an_unsigned_value_is_refused() -> None:
    def function(x: vy.Array[vy.i32, "n"]) -> vy.Array[vy.i32, "n"]:
        return x[-2 - vy.index()]

    message = message_of(function)
    assert "-2 less a value of u32 is below 0, and wraps" in message
    assert message.endswith("as in len(x) - 2 - i, or convert to a signed type, as in vy.i32(i)")


@vy.kernel
def backwards(x: vy.Array[vy.i32, "n"], count: vy.i32) -> vy.Array[vy.i32, "n"]:
    i, total = vy.index(), vy.i32(0)
    for k in reversed(range(i)):
        total = total * 3 + x[k]
    for k in reversed(range(count)):
        total = total * 3 + x[k]
    for k in reversed(range(3)):
        total = total * 3 + x[k]
    for k in reversed(range(1, 6, 2)):
        total = total * 3 + x[k]
    for v in reversed((1, 2)):
        total = total * 3 + v
    return total


@pytest.mark.parametrize("n", [-3, 0, 4])
def test_a_loop_over_a_range_may_be_reversed(n: int) -> None:
    x = np.array([3, -1, 4, 1, -5, 9, 2, 6], np.int32)

    def expected(i: int) -> int:
        total = 0
        for part in (range(i), range(n), range(3), range(1, 6, 2)):
            for k in reversed(part):
                total = total * 3 + int(x[k])
        return (total * 3 + 2) * 3 + 1

    assert backwards(x, n).tolist() == [np.int64(expected(i)).astype(np.int32) for i in range(8)]


def test_other_ranges_are_not_reversed() -> None:
    def function(x: vy.Array[vy.i32, "n"]) -> vy.Array[vy.i32, "n"]:
        total = vy.i32(0)
        for k in reversed(range(vy.index(), len(x))):
            total += x[k]
        return total

    assert message_of(function).endswith(
        "Fix: count upwards, and compute the number in the loop, as in k = stop - 1 - j"
    )


# ── objects ──

Named = namedtuple("Named", "a b")


@dataclass
class Both:
    a: int
    b: int


@pytest.mark.parametrize("made", [Named, Both])
def test_classes_of_python_are_made_structures(made) -> None:
    def function(x: vy.Array[vy.i32, "n"]) -> vy.Array[vy.i32, "n"]:
        return made(x[vy.index()], 1).a

    assert message_of(function).endswith("with @vy.struct, and annotate its fields with types of vyre")


def test_a_list_that_a_loop_changes_is_to_be_a_tuple() -> None:
    def function(x: vy.Array[vy.i32, "n"]) -> vy.Array[vy.i32, "n"]:
        pair = [x[0], x[1]]
        for _ in range(len(x)):
            pair = [pair[1], pair[0] + pair[1]]
        return pair[0]

    assert "Fix: make it a tuple, and give the name another one in the loop, or use an array" in message_of(function)

    @vy.kernel
    def fixed(x: vy.Array[vy.i32, "n"]) -> vy.Array[vy.i32, "n"]:
        pair = (x[0], x[1])
        for _ in range(len(x)):
            pair = (pair[1], pair[0] + pair[1])
        return pair[0]

    assert fixed(np.array([1, 1, 0, 0], np.int32)).tolist() == [5] * 4


# ── remainders and shifts ──


def test_remainders_that_wrapping_does_not_change_are_computed() -> None:
    @vy.kernel
    def function(
        x: vy.Array[vy.u32, "n"],
    ) -> tuple[vy.Array[vy.u32, "n"], vy.Array[vy.u32, "n"], vy.Array[vy.u32, "n"], vy.Array[vy.u32, "n"]]:
        i, total = vy.index(), vy.u32(0)
        for k in range(1, 9):
            total += (k - 1) % 3
        return (i - 1) % 8, -x[i] % 4, (i + 1 - x[i]) % 3, total

    found = function(np.array([1, 2, 2], np.uint32))
    assert [part.tolist() for part in found] == [[7, 0, 1], [3, 2, 2], [0, 0, 1], [7, 7, 7]]


def test_an_index_that_is_tested_before_may_be_subtracted_from() -> None:
    @vy.kernel
    def neighbours(
        x: vy.Array[vy.u32, "n"],
    ) -> tuple[vy.Array[vy.u32, "n"], vy.Array[vy.u32, "n"], vy.Array[vy.u32, "n"]]:
        i, n, total = vy.index(), len(x), vy.u32(0)
        for k in range(i + 1):
            if k:
                total += (k - 1) % 3
        return x[n - 1 if i == 0 else (i - 1) % n], x[(i - 1) % 3 if i > 0 else 1], total

    found = neighbours(np.array([5, 6, 7, 8], np.uint32))
    assert [part.tolist() for part in found] == [[8, 5, 6, 7], [6, 5, 6, 7], [0, 0, 1, 3]]


def test_an_index_that_is_compared_with_a_length_is_not_known_to_be_above_0() -> None:
    @vy.kernel
    def neighbour(x: vy.Array[vy.u32, "n"]) -> vy.Array[vy.u32, "n"]:
        i = vy.index()
        return x[(i - 1) % len(x)] if i < len(x) else 0

    with pytest.raises(vy.KernelError, match="begins at -1"):
        neighbour(np.array([5, 6], np.uint32))


def test_a_number_is_shifted_by_bytes_that_are_below_8() -> None:
    @vy.kernel
    def function(
        x: vy.Array[vy.u8, "n"],
    ) -> tuple[vy.Array[vy.u8, "n"], vy.Array[vy.u8, "n"], vy.Array[vy.u8, "n"]]:
        bit = x[vy.index()]
        return 1 << (bit & 7), 1 << (3 & bit), 1 << bit % 8

    for found, counts in zip(function(X), (X & 7, X & 3, X % 8), strict=True):
        assert np.array_equal(found, 1 << counts)
