import pytest

from vyre_driver.errors import BackendUnavailable
from vyre_driver_cuda.architecture import Architecture


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("sm_90", Architecture(9, 0)),
        ("compute_80", Architecture(8, 0)),
        (" SM_120 ", Architecture(12, 0)),
        ("103", Architecture(10, 3)),
        ("sm_90a", Architecture(9, 0, "a")),
    ],
)
def test_names(name: str, expected: Architecture) -> None:
    assert Architecture.parse(name) == expected


@pytest.mark.parametrize("architecture", [Architecture(8, 0), Architecture(12, 1), Architecture(9, 0, "a")], ids=str)
def test_a_name_comes_back(architecture: Architecture) -> None:
    assert Architecture.parse(str(architecture)) == architecture


@pytest.mark.parametrize("name", ["sm_61", "sm_9", "gfx90", "", "sm_90b"])
def test_others_are_refused_with_an_example(name: str) -> None:
    with pytest.raises(BackendUnavailable, match="as in sm_90"):
        Architecture.parse(name)


def test_what_came_with_which_generation() -> None:
    assert [(a.has_bf16, a.has_reductions) for a in (Architecture(7, 5), Architecture(8, 0))] == [
        (False, False),
        (True, True),
    ]
