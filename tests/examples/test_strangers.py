"""The distributions in `examples/` are what a stranger would write: they need one layer, and everything finds them."""

from __future__ import annotations

import ast
import importlib.metadata
import re
import sys
import tomllib
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import vyre as vy
from vyre.cli import main
from vyre_conform.cases import calls
from vyre_conform.cli import conform
from vyre_conform.testing import cells, require
from vyre_driver import (
    DialectRegistry,
    EngineBackend,
    ShadowedBackend,
    acquire,
    acquire_preferred_dispatch_backend,
    compile,
    emit_aot_target,
    registered_backends_by_precedence,
)
from vyre_driver.registry.backends import refresh
from vyre_driver.testing.contract import BackendContract
from vyre_foundation import dialects
from vyre_foundation.dialects.lowering import LoweringCtx, LoweringTable, TextModule
from vyre_foundation.discovery.migration import migrate
from vyre_foundation.validate import InvalidProgram

EXAMPLES = Path(__file__).parents[2] / "examples"
PROJECTS = {file.parent.name: tomllib.loads(file.read_text("utf-8")) for file in EXAMPLES.glob("*/pyproject.toml")}
NEEDS = {"vyre-driver-abacus": ("vyre-driver>=0.1,<0.2",), "vyre-dialect-geometry": ("vyre-foundation>=0.1,<0.2",)}
MAY_IMPORT = {"vyre-driver-abacus": {"vyre_driver", "vyre_foundation"}, "vyre-dialect-geometry": {"vyre_foundation"}}


def test_the_tox_file_of_the_example_gives_options_that_there_are() -> None:
    text = (EXAMPLES / "vyre-driver-abacus" / "tox.ini").read_text("utf-8")
    used = {name: re.findall(r" (--[a-z]+)", rest) for name, rest in re.findall(r"vyre-conform (\w+)(.*)", text)}
    used["run"] += re.findall(r"(--[a-z]+)", text.partition("written = ")[2])
    assert used == {"run": ["--backend", "--shard", "--journal", "--overwrite", "--junit"], "merge": ["--journal"]}
    for name, options in used.items():
        assert set(options) <= {
            option for param in conform.commands[name].params for option in (*param.opts, *param.secondary_opts)
        }


class Installed:
    """An entry point of an example, as its installation would have it."""

    def __init__(self, name: str, value: str, version: str, distribution: str) -> None:
        self.name, self.value = name, value
        self.dist = type("Distribution", (), {"name": distribution, "version": version})()

    def load(self) -> object:
        module, _, attribute = self.value.partition(":")
        return getattr(import_module(module), attribute)


@pytest.fixture(scope="module", autouse=True)
def installed():
    """The examples beside what is installed, without installing them."""
    real = importlib.metadata.entry_points

    def entry_points(*, group: str, **wanted: str):
        added = [
            Installed(name, value, project["project"]["version"], distribution)
            for distribution, project in PROJECTS.items()
            for name, value in project["project"].get("entry-points", {}).get(group, {}).items()
        ]
        names = {entry.name for entry in added}
        return [*(entry for entry in real(group=group, **wanted) if entry.name not in names), *added]

    with pytest.MonkeyPatch.context() as patch:
        for distribution in PROJECTS:
            patch.syspath_prepend(EXAMPLES / distribution / "src")
        patch.setattr(importlib.metadata, "entry_points", entry_points)
        refresh()
        dialects.refresh()
        yield
    refresh()
    dialects.refresh()


@pytest.mark.parametrize("name", PROJECTS)
def test_a_stranger_needs_one_layer_alone(name: str) -> None:
    assert tuple(PROJECTS[name]["project"]["dependencies"]) == NEEDS[name]
    imported = set()
    for file in (EXAMPLES / name / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom):
                imported.add(str(node.module).partition(".")[0])
            elif isinstance(node, ast.Import):
                imported |= {alias.name.partition(".")[0] for alias in node.names}
    own = name.replace("-", "_")
    assert imported - set(sys.stdlib_module_names) - {own} <= MAY_IMPORT[name]


# ── the backend ──


def test_the_backend_is_listed_by_its_rank_and_never_chosen_silently() -> None:
    listed = [r.id for r in registered_backends_by_precedence()]
    assert "abacus" in listed
    assert listed.index("abacus") < listed.index("reference")
    assert acquire_preferred_dispatch_backend().id() != "abacus"


def test_listing_it_imports_nothing_of_its_device() -> None:
    sys.modules.pop("vyre_driver_abacus.port", None)
    refresh()
    registered_backends_by_precedence()
    assert "vyre_driver_abacus.port" not in sys.modules


def test_its_source_can_be_read() -> None:
    backend = acquire("abacus")
    assert isinstance(backend, EngineBackend)
    text = "program p workgroup(4, 1, 1) { write out: u32[9] @0; out[global_id.x] = global_id.x * 3; }"
    assert "def kernel_0(group, groups, m0" in backend.emitted_source(vy.parse(text)).text


def test_it_has_everything_that_it_did_not_write() -> None:
    with vy.program("shift", workgroup_size=4) as p:
        a = p.read("a", vy.u32)
        out = p.write("out", vy.u32, like=a)
        out[p.global_id(0)] = a[p.global_id(0)] << 3
    backend = acquire("abacus")
    data = np.arange(10, dtype=np.uint32)
    np.testing.assert_array_equal(backend.dispatch_arrays(p.build(), {"a": data})["out"], data << 3)
    timed = backend.dispatch_borrowed_timed(p.build(), [data])
    assert timed.device_ns is not None
    assert timed.device_ns > 0
    pipeline = compile(backend, p.build())
    batch = pipeline.dispatch_batched([[data], [data + 1]])
    assert [np.frombuffer(outputs[0], np.uint32)[1] for outputs in batch] == [8, 16]
    assert backend.backend_metric_snapshot()["launches"] >= 4
    shadow = ShadowedBackend(backend, acquire("reference"))
    shadow.dispatch(p.build(), [data])
    assert shadow.shadow.counts.compared == 1


QUERIES = (
    "ops:mul:*", "ops:div:*", "casts:*", "ids:*", "indirect:*", "iterations:*", "subgroups:*",
    "atomics:*", "grid:*", "traps:*", "refusals:*",
)  # fmt: skip


@pytest.mark.parametrize("spec", cells(*QUERIES)[::9], ids=str)
def test_it_conforms(spec) -> None:
    require(acquire("abacus"), spec)


# ── the dialect ──


def test_the_ops_of_the_dialect_are_listed_and_run_everywhere() -> None:
    found = DialectRegistry.current()
    assert found.lookup("geometry.hypot").dialect == "geometry"
    assert "geometry" in [d.id for d in found.dialects]
    with vy.program("lengths", workgroup_size=4) as p:
        x, y = p.read("x", vy.f32), p.read("y", vy.f32)
        out = p.write("out", vy.f32, like=x)
        i = p.global_id(0)
        out[i] = vy.call("geometry.hypot", x[i], y[i])
    arrays = {"x": np.array([3, 5], np.float32), "y": np.array([4, 12], np.float32)}
    for backend in ("reference", "abacus", "cpu"):
        assert vy.run(p.build(), arrays, backend=acquire(backend))["out"].tolist() == [5, 13]


def test_programs_with_its_old_names_are_brought_up_to_date() -> None:
    assert "call<f32> geometry.manhattan(-2.0, 1.0)" in migrated("taxicab")
    assert "call<f32> geometry.length(1.0, -2.0, 2)" in migrated("chebyshev")
    assert "call<f32> geometry.norm(1.0, -2.0)" in migrated("norm")
    assert "call<f32> geometry.length(1.0, -2.0, 0)" in migrated("norm", changes_results=True)


def migrated(old: str, *, changes_results: bool = False) -> str:
    text = f"program p workgroup(1) {{ write out: f32[1] @0; out[0] = call<f32> geometry.{old}(1.0, -2.0); }}"
    return vy.print_program(migrate(vy.parse(text), changes_results=changes_results).program)


def packed_distances(axes: int) -> vy.Program:
    with vy.program("distances", workgroup_size=64) as p:
        a, b = p.read("a", vy.u32), p.read("b", vy.u32)
        out = p.write("out", vy.u32, like=a)
        i = p.global_id(0)
        out[i] = vy.call("geometry.packed_distance", a[i], b[i], axes=axes)
    return p.build()


@pytest.mark.backend("opencl")
@pytest.mark.parametrize("axes", [1, 3, 4])
def test_the_text_of_an_op_runs_where_there_is_one_and_gives_what_the_composition_gives(axes: int) -> None:
    rng = np.random.default_rng(axes)
    a, b = (rng.integers(0, 256, (1000, 4), np.uint8) for _ in "ab")
    arrays = {"a": a.view(np.uint32).ravel(), "b": b.view(np.uint32).ravel()}
    wanted = np.abs(a.astype(int) - b).T[:axes].sum(axis=0)
    for backend in ("reference", "abacus", "opencl"):
        found = vy.run(packed_distances(axes), arrays, backend=acquire(backend))["out"]
        np.testing.assert_array_equal(found, wanted)
    opencl, abacus = acquire("opencl"), acquire("abacus")
    assert isinstance(opencl, EngineBackend)
    assert isinstance(abacus, EngineBackend)
    entry = f"geometry_packed_distance_u32_u32_{axes}"
    assert f"uint {entry}(uint a, uint b)" in opencl.emitted_source(packed_distances(axes)).text
    assert entry not in abacus.emitted_source(packed_distances(axes)).text


def test_the_text_for_another_language_is_printed_for_it_alone() -> None:
    def printed(axes: int) -> str:
        return emit_aot_target("cuda-c", packed_distances(axes)).decode()

    assert "return __vsadu4(a, b);" in printed(4)
    assert "__vsadu4" not in printed(3)


def test_the_dialect_refuses_what_it_cannot_mean() -> None:
    with pytest.raises(InvalidProgram, match=r"V066.*refuses: a u32 has no 9 bytes"):
        vy.run(packed_distances(9), {"a": np.zeros(1, np.uint32), "b": np.zeros(1, np.uint32)})


@pytest.mark.parametrize("backend", ["reference", "cpu"])
@pytest.mark.parametrize("query", ["calls:geometry.*"])
def test_its_ops_conform(backend: str, query: str) -> None:
    found = cells(query)
    assert {spec.address.name for spec in found} == {
        f"geometry.{op}" for op in ("dot", "hypot", "length", "manhattan", "packed_distance")
    }
    assert ("becomes", "geometry.length") in {key for spec in found for key in spec.address.keys}
    for spec in found:
        require(acquire(backend), spec)


def test_a_migration_that_keeps_no_results_does_not_conform(monkeypatch: pytest.MonkeyPatch) -> None:
    lie = dialects.Migration(op="geometry.hypot", to="geometry.length", since="2", attrs=(("norm", "maximum"),))
    found = dialects.installed_dialects()
    monkeypatch.setattr(
        "vyre_conform.cases.calls.installed_dialects",
        lambda: [replace(d, migrations=(lie,)) for d in found if d.id == "geometry"],
    )
    (first, _) = (spec for spec in calls.specs() if ("becomes", "geometry.length") in spec.address.keys)
    with pytest.raises(AssertionError):
        require(acquire("reference"), first)


@pytest.mark.backend("opencl")
def test_a_text_that_is_wrong_does_not_conform() -> None:
    from vyre_dialect_geometry import packed

    def wrong(ctx: LoweringCtx) -> TextModule:
        right = packed.in_opencl_c(ctx)
        return TextModule(right.text.replace("d.s0", "d.s1"), right.entry)

    lowerings = LoweringTable({**packed.DISTANCE.lowerings.texts, "OpenCL C": wrong}, packed.reference)
    dialects.unregister([packed.DISTANCE.id])
    dialects.register([replace(packed.DISTANCE, lowerings=lowerings)])
    try:
        (spec,) = cells("calls:geometry.packed_distance:*")
        with pytest.raises(AssertionError):
            require(acquire("opencl"), spec)
        require(acquire("reference"), spec)
    finally:
        dialects.refresh()


def test_the_command_line_finds_both() -> None:
    from click.testing import CliRunner

    run = CliRunner().invoke
    assert '"abacus"' in run(main, ["backends", "--json"]).stdout
    assert "geometry.hypot" in run(main, ["ops", "--json"]).stdout


class TestAbacus(BackendContract):
    """The suite of the contract, as a stranger's own tests would have it."""

    def make(self) -> vy.VyreBackend:
        return acquire("abacus")
