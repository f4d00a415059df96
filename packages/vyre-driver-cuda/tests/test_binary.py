import pytest

from vyre_driver_cuda.architecture import Architecture
from vyre_driver_cuda.binary import Cubin
from vyre_driver_cuda.compiler import BuildFailed

CODE = b"\x7fELF\0\0code with\0zeros"


def test_bytes_and_back() -> None:
    cubin = Cubin(("first", "second"), CODE, Architecture(9, 0, "a"), ("second",))
    assert Cubin.from_bytes(cubin.to_bytes()) == cubin


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "no head"),
        (b"not json\0" + CODE, "no head"),
        (b'{"names": []}\0' + CODE, "no head"),
        (b'{"kernels": ["k"]}\0' + CODE, "no head"),
        (b'{"kernels": ["k"], "architecture": "sm_90"}\0' + CODE, "no head"),
        (b'{"kernels": ["k"], "architecture": "sm_90", "cooperative": []}\0text', "no machine code"),
    ],
)
def test_other_bytes_are_refused(data: bytes, reason: str) -> None:
    with pytest.raises(BuildFailed, match=reason):
        Cubin.from_bytes(data)


@pytest.mark.parametrize(
    ("made_for", "gpu", "runs"),
    [
        ("sm_80", Architecture(8, 0), True),
        ("sm_80", Architecture(8, 9), True),
        ("sm_89", Architecture(8, 6), False),
        ("sm_90", Architecture(10, 0), False),
        ("sm_90a", Architecture(9, 0), True),
        ("sm_100a", Architecture(10, 3), False),
        ("sm_100f", Architecture(10, 3), True),
    ],
)
def test_machine_code_is_for_some_gpus(made_for: str, gpu: Architecture, runs: bool) -> None:
    cubin = Cubin(("k",), CODE, Architecture.parse(made_for))
    if runs:
        cubin.require(gpu)
    else:
        with pytest.raises(BuildFailed, match=f"it is machine code for {made_for}, and the GPU is {gpu}"):
            cubin.require(gpu)
