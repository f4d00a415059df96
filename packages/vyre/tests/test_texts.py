"""Texts are no numbers: where one is passed, the remedy gives the array that was meant."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import vyre as vy


def copied() -> vy.Program:
    with vy.program("copied") as p:
        x = p.read("x", vy.u8)
        out = p.write("out", vy.u8, like=x)
        out[p.global_id(0)] = x[p.global_id(0)]
    return p.build()


@vy.kernel
def same(x: vy.Array[vy.u8, "n"]) -> vy.Array[vy.u8, "n"]:
    return x[vy.index()]


def table(values: Any) -> Any:
    with vy.program("table") as p:
        values = p.constant("values", vy.u8, values)
        out = p.write("out", vy.u8, 2)
        out[p.global_id(0)] = values[p.global_id(0)]
    return vy.run(p.build())["out"]


CALLS: dict[str, Callable[[Any], Any]] = {
    "run": lambda given: vy.run(copied(), x=given)["out"],
    "kernel": same,
    "array": lambda given: vy.array(given, vy.u8).numpy(),
    "constant": table,
}
TEXTS = {
    "text": ("ab", "text.encode()"),
    "bytes": (np.array([b"a", b"b"]), "text.view('uint8')"),
    "texts": (np.array(["a", "b"]), "numpy.strings.encode(text).view('uint8')"),
    "of any length": (
        np.array(["a", "b"], np.dtypes.StringDType()),
        "numpy.strings.encode(text).view('uint8')",
    ),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("text", TEXTS)
def test_the_remedy_of_a_text_gives_its_bytes(call: str, text: str) -> None:
    given, remedy = TEXTS[text]
    with pytest.raises(vy.VyreError) as caught:
        CALLS[call](given)
    assert caught.value.fix.endswith(f", as in {remedy}")
    assert bytes(CALLS[call](eval(remedy, {"text": given, "numpy": np}))) == b"ab"


def test_bytes_are_elements_of_u8() -> None:
    for given in (b"ab", bytearray(b"ab"), memoryview(b"ab")):
        assert bytes(table(given)) == b"ab"
    with pytest.raises(vy.BuildError, match=r"'t' got bytes, .* Fix: say .* numpy.frombuffer\(data, 'uint32'\)$"):
        vy.program("p").constant("t", vy.u32, b"abcd")


@pytest.mark.parametrize("texts", [np.array([b"ba", b"ab"]), np.array(["ba", "ab"])])
def test_texts_are_sorted_as_numbers(texts: Any) -> None:
    with pytest.raises(vy.VyreError, match=r"Fix: give each text a number, as numpy.unique"):
        vy.sort(texts)
    known, numbers = np.unique(texts, return_inverse=True)
    assert known[vy.sort(numbers)].tolist() == sorted(texts.tolist())


def test_messages_are_a_list_of_bytes() -> None:
    assert vy.crc32([np.frombuffer(b"ab", np.uint8)]).tolist() == vy.crc32([b"ab"]).tolist()
    assert vy.find_all(b"ab", [np.frombuffer(b"b", np.uint8)])[0].tolist() == [1]
    with pytest.raises(vy.VyreError, match=r"got ndarray, expected bytes-like objects"):
        vy.crc32([np.zeros((2, 2), np.uint8)])
    with pytest.raises(vy.VyreError, match=r"got bytes, expected a list of bytes-like objects. Fix: pass it in a list"):
        vy.sha256(b"ab")  # type: ignore[arg-type]
    with pytest.raises(vy.VyreError, match=r"got str, expected bytes-like objects. Fix: .* text.encode\(\)"):
        vy.crc32(["ab"])  # type: ignore[list-item]
