"""The worked examples run as they stand on their pages."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/driver.md"
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


def test_the_example_of_elementary_functions_prints_what_the_page_shows(capsys):
    page, readme = (ROOT.joinpath(path).read_text("utf-8") for path in ("docs/math.md", "packages/vyre-math/README.md"))
    (shown,) = re.findall(r"^```\n(program.*?)^```", page, re.MULTILINE | re.DOTALL)
    for text in (page, readme):
        (example,) = BLOCK.findall(text)
        exec(compile(example, "example", "exec"), {})
        assert capsys.readouterr().out.strip() == shown.strip()
