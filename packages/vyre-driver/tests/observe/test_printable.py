import io

import pytest

from vyre_driver.observe.printable import degrade


@pytest.mark.parametrize(
    ("encoding", "expected"),
    [("ascii", "3 us - 2 x 2 -> \\u4e2d \\udcff"), ("latin-1", "3 µs - 2 × 2 -> \\u4e2d \\udcff"), ("utf-8", None)],
)
def test_what_a_stream_cannot_encode_is_written_as_ascii(encoding: str, expected: str | None) -> None:
    file = io.BytesIO()
    stream = io.TextIOWrapper(file, encoding=encoding)
    degrade(stream, None, io.StringIO())
    stream.write("3 µs – 2 × 2 → 中 \udcff")
    stream.flush()
    assert file.getvalue().decode(encoding) == (expected or "3 µs – 2 × 2 → 中 \\udcff")
