import pytest

from vyre_driver_cuda.binary import Cubin
from vyre_driver_cuda.compiler import BuildFailed

CODE = b"\x7fELF\0\0code with\0zeros"


def test_bytes_and_back() -> None:
    cubin = Cubin(("first", "second"), CODE)
    assert Cubin.from_bytes(cubin.to_bytes()) == cubin


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "no head"),
        (b"not json\0" + CODE, "no head"),
        (b'{"names": []}\0' + CODE, "no head"),
        (b'{"kernels": ["k"]}\0text', "no machine code"),
    ],
)
def test_other_bytes_are_refused(data: bytes, reason: str) -> None:
    with pytest.raises(BuildFailed, match=reason):
        Cubin.from_bytes(data)
