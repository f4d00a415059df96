"""The worked examples of the driver's page run as they stand there."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs/driver.md"
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def test_the_examples_of_the_driver_run_from_top_to_bottom(capsys):
    text = PAGE.read_text("utf-8")
    blocks = list(BLOCK.finditer(text))
    assert len(blocks) == 10
    scope: dict[str, object] = {}
    for block in blocks:
        line = text.count("\n", 0, block.start(1))
        exec(compile("\n" * line + block[1], str(PAGE), "exec"), scope)
    assert "reference" in capsys.readouterr().out
