"""The pages agree with the sources: programs in them are valid, tables are complete, codes are there once."""

import re
import tomllib
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

import vyre
import vyre_driver
from vyre_driver import CompiledPipeline, VyreBackend
from vyre_driver.backend.delegate import contract_methods
from vyre_driver.engine.port import DevicePort
from vyre_foundation.ops import OPS
from vyre_foundation.testing.goldens import check_golden
from vyre_foundation.text import parse, print_program
from vyre_foundation.validate.codes import REASONS, RULES

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs").glob("**/*.md"))
PROGRAM = re.compile(r"^```vyre\n(.*?)^```", re.MULTILINE | re.DOTALL)
PROGRAMS = [(page.name, text) for page in PAGES for text in PROGRAM.findall(page.read_text("utf-8"))]


@pytest.fixture(scope="module")
def tables():
    """The module that writes tables when the documentation is built."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "docs/_ext")
        return import_module("tables")


@cache
def all_tables(tables):
    return tables.tables()


def test_there_are_programs():
    assert {"language.md"} <= {page for page, _ in PROGRAMS}


@pytest.mark.parametrize(("page", "text"), PROGRAMS)
def test_a_program_on_a_page_is_valid_and_written_as_it_is_printed(page, text):
    program = parse(text)
    program.validate()
    assert print_program(program) == text


def test_every_op_and_every_code_is_in_a_table(tables):
    written = all_tables(tables)
    assert set(re.findall(r"^\| `(\w+)`", written["ops"] + written["raw_ops"], re.MULTILINE)) == set(OPS)
    assert re.findall(r"^\| (V\d+)", written["rules"], re.MULTILINE) == list(RULES)
    assert re.findall(r"^\| (D\d+)", written["reasons"], re.MULTILINE) == list(REASONS)


def test_every_name_of_the_front_door_is_on_its_page_once():
    page = (ROOT / "docs/api/vyre.md").read_text("utf-8")
    groups = re.findall(r"^   :nosignatures:\n\n((?:   \w+\n)+)", page, re.MULTILINE)
    listed = [name for group in groups for name in group.split()]
    in_text = re.findall(r"`(\w+)`", re.sub(r"```.*?```", "", page, flags=re.DOTALL))
    assert len(listed) == len(set(listed))
    assert set(vyre.__all__) <= {*listed, *in_text, "algorithms"}
    assert set(listed) <= set(vyre.__all__)


@pytest.mark.parametrize("page", ["docs/install.md", "packages/vyre/README.md"])
def test_every_extra_is_described(page):
    project = tomllib.loads((ROOT / "packages/vyre/pyproject.toml").read_text("utf-8"))["project"]
    described = re.findall(r"^\| (`.*?) \|", (ROOT / page).read_text("utf-8"), re.MULTILINE)
    assert set(project["optional-dependencies"]) <= {name for row in described for name in re.findall(r"`(\w+)`", row)}


def test_every_table_has_a_header():
    """A line between two rows makes text of what is behind it."""
    code = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)
    for page in PAGES:
        text = code.sub("", page.read_text("utf-8"))
        for table in re.findall(r"(?:^ *\|.*\n)+", text, re.MULTILINE):
            assert re.search(r"\n *\|[ :|-]+\|\n", table), f"{page.name}: {table.splitlines()[0]}"


def test_every_row_of_a_table_has_as_many_cells_as_its_header():
    """A `|` in code ends a cell too, unless it is escaped."""
    code = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)
    for page in PAGES:
        for table in re.findall(r"(?:^ *\|.*\n)+", code.sub("", page.read_text("utf-8")), re.MULTILINE):
            cells = {row: len(re.findall(r"(?<!\\)\|", row)) for row in table.splitlines()}
            wrong = [row for row, count in cells.items() if count != next(iter(cells.values()))]
            assert wrong == [], page.name


def test_no_header_of_a_table_is_empty():
    """Screen readers name a cell by its column."""
    empty = re.compile(r"^\|(?:[^\n]*\|)? *\|(?:[^\n]*\|)?\n\|[-|: ]+\|$", re.MULTILINE)
    assert empty.search("| | b |\n|---|---|")
    assert [page.name for page in PAGES if empty.search(page.read_text("utf-8"))] == []


def test_every_name_of_the_driver_layer_is_on_its_page_with_what_it_is(tables):
    rows = re.findall(r"^\| `(\w+)` \| `[\w.]+` \| (.*) \|$", all_tables(tables)["surface"], re.MULTILINE)
    assert sorted(name for name, _ in rows) == sorted(vyre_driver.__all__)
    assert [name for name, said in rows if not said] == []


def test_the_port_is_on_its_page_with_what_is_required(tables):
    rows = re.findall(r"^\| `(\w+)` \| (.+) \| (.+) \|$", all_tables(tables)["port"], re.MULTILINE)
    methods = {name for name, value in vars(DevicePort).items() if callable(value) and not name.startswith("_")}
    assert {method for method, *_ in rows} == methods | {"package", "wait_limit"}
    assert {method for method, _, default in rows if default == "**required**"} == DevicePort.__abstractmethods__


def test_the_contract_is_on_its_page_with_what_is_required(tables):
    for contract, name in ((VyreBackend, "contract"), (CompiledPipeline, "pipeline_contract")):
        rows = re.findall(r"^\| `(\w+)` \| (.+) \| (.+) \|$", all_tables(tables)[name], re.MULTILINE)
        assert {method for method, *_ in rows} == set(contract_methods(contract))
        assert {method for method, _, default in rows if default == "**required**"} == {"id", "dispatch"}


def test_every_error_has_a_code_of_its_own_and_an_example(tables):
    codes = [error.code for error in tables.find_errors(ROOT)]
    known = tables.error_texts(ROOT)
    assert sorted(codes) == sorted(known)
    assert all(set(row) == {"when", "repair", "why"} and all(row.values()) for row in known.values())


def test_every_error_says_in_its_docstring_what_it_means(tables):
    assert [error.name for error in tables.find_errors(ROOT) if not error.meaning] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_tables_of_a_page_are_up_to_date(tables, page):
    text = page.read_text("utf-8")
    current = tables.with_tables(text, all_tables(tables))
    check_golden(page, current, __file__)


def test_every_table_is_on_one_page(tables):
    placed = [place["name"] for page in PAGES for place in tables.PLACE.finditer(page.read_text("utf-8"))]
    assert sorted(placed) == sorted(all_tables(tables))
    assert not any("{include}" in page.read_text("utf-8") for page in PAGES)


def test_tables_with_signs_of_their_own_stay_tables(tables):
    assert tables.table(("a", "b"), [("x | y", "z")]) == "| a | b |\n| --- | --- |\n| x \\| y | z |\n"


def test_every_variable_that_the_sources_read_is_on_the_page(tables):
    assert tables.find_variables(ROOT) == set(tomllib.loads((ROOT / "docs/environment.toml").read_text("utf-8")))
