"""JSON from outside: what is wrong is a `ValueError` that names it."""

import tracemalloc

import pytest

from vyre_driver.checked import MAX_DEPTH, Fields, read_json


def test_what_is_right_is_read() -> None:
    deep = b"[" * MAX_DEPTH + b"]" * MAX_DEPTH
    assert read_json(b'{"a": [1, -2.5e3, "[[\\"[", null, true]}') == {"a": [1, -2500.0, '[["[', None, True]}
    assert str(read_json(deep)).startswith("[[")
    assert read_json(b'"' + b"[" * 1000 + b'"') == "[" * 1000


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "Expecting value"),
        (b"\xff", "utf-8"),
        (b"{", "Expecting property name"),
        (b"[1] 2", "Extra data"),
        (b"[" * (MAX_DEPTH + 1), f"more than {MAX_DEPTH} brackets"),
        (b'{"a":' * 100_000, f"more than {MAX_DEPTH} brackets"),
        (b'["' + b'\\"' * 50 + b'"' + b"[" * 100, f"more than {MAX_DEPTH} brackets"),
        (b"NaN", "NaN is no number"),
        (b"-Infinity", "-Infinity is no number"),
        (b"1e999", "too large"),
        (b"9" * 5000, "4300 digits"),
        (b'{"a": 1, "b": 2, "a": 3}', "a name twice"),
        (b" " * 101, "expected at most 100"),
    ],
)
def test_what_is_wrong_is_a_value_error(data: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_json(data, max_bytes=100 if message == "expected at most 100" else 10**7)


def test_brackets_take_no_memory() -> None:
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="brackets"):
            read_json(b"[" * 2**20)
        assert tracemalloc.get_traced_memory()[1] < 16 * 2**20
    finally:
        tracemalloc.stop()


def test_fields_are_of_their_types() -> None:
    fields = Fields({"t": "a", "f": True, "n": 1.5, "w": 3, "l": ["a"], "o": {"x": 1}, "null": None})
    assert (fields.text("t"), fields.flag("f"), fields.number("n"), fields.whole("w")) == ("a", True, 1.5, 3)
    assert (fields.texts("l"), fields.items("l"), fields.fields("o").whole("x")) == (("a",), ["a"], 1)
    assert sorted(fields.names()) == ["f", "l", "n", "null", "o", "t", "w"]
    for ask, name, message in (
        (fields.text, "w", "'w': got 3, expected a string"),
        (fields.flag, "w", "'w': got 3, expected true or false"),
        (fields.number, "f", "'f': got true, expected a number"),
        (fields.whole, "f", "'f': got true, expected a whole number in 0"),
        (fields.whole, "n", "'n': got 1.5, expected a whole number"),
        (fields.items, "null", "'null': got null, expected a list"),
        (fields.texts, "t", "'t': got a string, expected a list"),
        (fields.fields, "l", "'l': got a list, expected an object"),
        (fields.text, "nothing", "there is no 'nothing'"),
    ):
        with pytest.raises(ValueError, match=message):
            ask(name)
    with pytest.raises(ValueError, match="got a list, expected an object"):
        Fields([])
