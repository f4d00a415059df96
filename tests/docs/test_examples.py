"""The worked examples run as they stand on their pages."""

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from vyre_driver import emit_aot_target
from vyre_driver.testing.fake_port import FakePort
from vyre_driver.testing.registration import registered
from vyre_driver.testing.target import generous_profile
from vyre_driver.testing.witnesses import doubling

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(
    ("page", "printed"),
    [
        ("algorithms", ""),
        ("cache", ""),
        ("cli", ""),
        ("continuous-integration", ""),
        ("debugging", "a divisor is zero"),
        ("dialects", ""),
        ("distributed", "a grid barrier makes all workgroups wait"),
        ("driver", "reference"),
        ("gpu", "[2. 2. 2. 2.]"),
        ("graphs", "nothing has written element 0 of the temporary 'temporary'. Fix: "),
        ("arrays", "one of 'reference'"),
        ("index", ""),
        ("kernels", "beside a value of u32\n    return x[vy.index()] * 0.5\n"),
        ("learning", ""),
        ("math", "math.exp"),
        ("numpy", ""),
        ("observing", "no local is called `y`"),
        ("profiling", "'accesses': 4"),
        ("tuning", "as the engine launches it"),
        ("programs", "trapped with 'not a digit', code 12"),
        ("pytorch", ""),
        ("tutorial", "[0.   0.   0.25 0.5  0.25 0.   0.   0.  ]\n"),
    ],
)
def test_the_examples_of_a_page_run_from_top_to_bottom(page, printed, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # some write files
    if page == "pytorch":
        pytest.importorskip("torch", reason="`tox -e pytorch` has it")
    if page == "observing":
        pytest.importorskip("prometheus_client", reason="the extra `prometheus` brings it")
    path = ROOT / f"docs/{page}.md"
    text = path.read_text("utf-8")
    examples = list(BLOCK.finditer(text))
    assert examples
    scope: dict[str, object] = {}
    for example in examples:
        line = text.count("\n", 0, example.start(1))
        exec(compile("\n" * line + example[1], str(path), "exec"), scope)
    assert printed in capsys.readouterr().out


READMES = [
    page
    for page in (ROOT / "README.md", *sorted(ROOT.glob("packages/*/README.md")))
    if "```python" in page.read_text("utf-8")
]


@pytest.mark.parametrize("page", READMES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_first_example_of_a_readme_is_a_whole_program(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = page.read_text("utf-8")
    scope: dict[str, object] = {}
    for example in BLOCK.finditer(text):
        exec(compile("\n" * text.count("\n", 0, example.start(1)) + example[1], str(page), "exec"), scope)


def test_the_example_of_elementary_functions_prints_what_the_page_shows(capsys):
    page, readme = (ROOT.joinpath(path).read_text("utf-8") for path in ("docs/math.md", "packages/vyre-math/README.md"))
    (shown,) = re.findall(r"^```\n(program.*?)^```", page, re.MULTILINE | re.DOTALL)
    for text in (page, readme):
        example, *_ = BLOCK.findall(text)
        exec(compile(example, "example", "exec"), {})
        assert capsys.readouterr().out.strip() == shown.strip()


def test_the_module_that_emits_ahead_of_time_is_complete(monkeypatch):
    page = (ROOT / "docs/backends.md").read_text("utf-8").partition("### Ahead-of-time compilation")[2]
    port = ModuleType("vyre_driver_mine.port")
    port.MinePort = lambda: FakePort(lambda plan, memory: None, generous_profile("mine"))
    monkeypatch.setitem(sys.modules, "vyre_driver_mine", ModuleType("vyre_driver_mine"))
    monkeypatch.setitem(sys.modules, "vyre_driver_mine.port", port)
    scope: dict[str, object] = {}
    exec(compile(BLOCK.search(page)[1], "backends.md", "exec"), scope)
    with registered(scope["registration"]):
        for target in ("mine-source", "mine-binary"):
            assert emit_aot_target(target, doubling().program)
