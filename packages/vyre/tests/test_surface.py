"""What `import vyre` gives."""

import pytest

import vyre
import vyre_foundation


def test_all_names_are_there() -> None:
    assert all(hasattr(vyre, name) for name in vyre.__all__)
    assert {"parse", "u32", "run", "exp", "__version__"} <= set(dir(vyre))
    assert vyre.parse is vyre_foundation.parse


def test_there_is_nothing_else() -> None:
    with pytest.raises(AttributeError, match="'vyre' has no attribute 'rnu'"):
        vyre.rnu  # noqa: B018
