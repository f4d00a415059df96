"""`vyre.graph` on the reference and on a device: NumPy is the oracle, and what a launch costs is counted exactly."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from click.testing import CliRunner, Result

import vyre as vy
from vyre.cli import main
from vyre_driver import GraphRecorder, Trace, Trapped, compile_graph, traced
from vyre_driver.graph.flatten import flatten
from vyre_driver.graph.nodes import Graph, RepeatNode
from vyre_driver.schedule import waves
from vyre_driver.testing.graph_counts import counted_graphs, levels_graph, require_costs
from vyre_driver.testing.graph_waves import chunked_graph
from vyre_driver.testing.graphs import programs, random_graph
from vyre_driver.testing.traces import require_trace_events
from vyre_foundation.errors import BuildError

AFFINE, MIX, DOWN = (programs()[name] for name in ("affine", "mix", "count_down"))
X = np.arange(1000, dtype=np.uint32)


def costs(backend: vy.VyreBackend, before: dict[str, int]) -> dict[str, int]:
    after = backend.backend_metric_snapshot()
    names = ("prepares", "compiles", "plans", "launches", "fills", "waits", "copies_in", "copies_out", "allocations")
    return {name: after[name] - before[name] for name in names if after[name] != before[name]}


@pytest.mark.parametrize("backend", ["reference", "cpu"])
@pytest.mark.parametrize("seed", [*range(10), *(pytest.param(n, marks=pytest.mark.slow) for n in range(10, 25))])
def test_random_graphs_give_what_numpy_gives(seed: int, backend: str) -> None:
    made = random_graph(1000 + seed, steps=16)
    with compile_graph(made.graph, vy.backend_for(backend), fusion=seed % 5 > 0) as run:
        for _ in range(2):
            outputs = run.run(made.inputs)
            assert outputs.keys() == made.outputs.keys()
            for name, expected in made.outputs.items():
                np.testing.assert_array_equal(outputs[name], expected)


@pytest.mark.parametrize("seed", [*range(4), *(pytest.param(n, marks=pytest.mark.slow) for n in range(4, 10))])
def test_random_graphs_in_waves_give_what_numpy_gives(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waves, "LEAST_BYTES", 1)
    made = random_graph(2000 + seed, steps=10)
    with compile_graph(made.graph, vy.backend_for("cpu"), overlap=True) as run:
        for _ in range(2):
            outputs = run.run(made.inputs)
            for name, expected in made.outputs.items():
                np.testing.assert_array_equal(outputs[name], expected)


def test_copies_of_chunks_run_beside_launches() -> None:
    backend, made = vy.backend_for("cpu"), chunked_graph(4, 1000)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(waves, "LEAST_BYTES", 4000)
        run = compile_graph(made.graph, backend, fusion=False, overlap=True)
    assert run.executor == "waves"
    before = backend.backend_metric_snapshot()["copies_beside"]
    np.testing.assert_array_equal(run.run(made.inputs)["y"], made.outputs["y"])
    beside = backend.backend_metric_snapshot()["copies_beside"] - before
    assert beside == 6


def test_the_first_launch_compiles_nothing() -> None:
    made = random_graph(14)
    run = compile_graph(made.graph, vy.backend_for("cpu"))
    before = run.backend.backend_metric_snapshot()
    run.run(made.inputs)
    assert "compiles" not in costs(run.backend, before)


def test_a_fused_chain_is_one_launch() -> None:
    g, expected = vy.graph("chain"), X
    part = g.input("x", vy.u32, len(X))
    for _ in range(100):
        part, expected = g.dispatch(AFFINE, x=part)["out"], expected * np.uint32(3) + np.uint32(1)
    g.output("y", part)
    run = g.compile("cpu")
    assert run.dispatches == ("+".join(node.name for node in g.build().nodes[:-1]),)
    for _ in range(2):
        before = run.backend.backend_metric_snapshot()
        np.testing.assert_array_equal(run.run(x=X)["y"], expected)
    assert costs(run.backend, before) == {"launches": 1, "waits": 1, "copies_in": 1, "copies_out": 1}


def test_a_loop_with_a_flag() -> None:
    g = vy.graph("loop")
    left = g.input("left", vy.u32, 1)
    with g.repeat(1000, until_zero=left):
        g.dispatch(DOWN, left=left)
    g.output("left", left)
    run = g.compile("cpu")
    # The words of the loop, and batches of iterations of two launches: 1 + 2, then 3 + 1 + 2, then 3.
    for start, launches, waits in ((3, 7, 2), (5, 13, 3), (3, 7, 1)):
        before = run.backend.backend_metric_snapshot()
        assert run.run(left=np.array([start], np.uint32))["left"] == [0]
        spent = costs(run.backend, before)
        assert (spent["launches"], spent["waits"]) == (launches, waits)


@pytest.mark.parametrize("backend", ["cpu", "reference"])
def test_an_input_of_one_element_takes_a_number(backend: str) -> None:
    with vy.program("scale", workgroup_size=64) as p:
        x, by = p.read("x", vy.f32), p.uniform("by", vy.f32, 1)
        out = p.write("out", vy.f32, like=x)
        out[p.global_id(0)] = x[p.global_id(0)] * by[0]
    with vy.graph("scales") as g:
        x, by = g.input("x", vy.f32, 3), g.input("by", vy.f32, 1)
        g.output("out", g.dispatch(p.build(), x=x, by=by)["out"])
    run = g.compile(backend)
    x = np.float32([1, 2, 3])
    for by in (2.5, 3, np.float64(0.5), np.float32([4])):
        assert np.array_equal(run.run(x=x, by=by)["out"], x * np.float32(by))
        assert np.array_equal(run.launch(x=x, by=by).result()["out"], x * np.float32(by))
    with pytest.raises(vy.InvalidInput, match=r"'by': got 2 elements, expected 1 elements of f32"):
        run.run(x=x, by=np.float32([1, 2]))
    with pytest.raises(vy.InvalidInput, match=r"'x': got int"):
        run.run(x=1, by=2)


@pytest.mark.parametrize("dtype", [np.float32, np.dtype("f4"), "float32"])
def test_types_of_numpy_declare_buffers(dtype: object) -> None:
    with vy.graph("copy") as g:
        x, between, held = g.input("x", dtype, 4), g.temporary(dtype, 4), g.resident("held", dtype, 4)
        g.copy(x, between)
        g.copy(between, held)
    assert between.dtype is vy.f32
    array = vy.zeros(4, vy.f32, backend="cpu")
    g.compile("cpu").run(x=np.float32([1, 2, 3, 4]), held=array)
    assert array.tolist() == [1, 2, 3, 4]


def test_buffers_of_structures_are_declared_by_their_units() -> None:
    @vy.struct
    class Sample(vy.Struct):
        weight: vy.f32
        count: vy.u32

    with pytest.raises(vy.BuildError, match=r"buffer 'x': got StructType, .*Fix: declare its units: \.units"):
        vy.graph("g").input("x", Sample, 4)
    with pytest.raises(vy.BuildError, match=r"buffer 'x': got the type void64.*Fix: declare its units: \.units"):
        vy.graph("g").resident("x", Sample.dtype, 4)
    with pytest.raises(vy.BuildError, match=r"buffer 'x': got Python's type float.*Fix: use f32 or f64"):
        vy.graph("g").input("x", float, 4)
    samples = vy.zeros(3, Sample, backend="cpu")
    with vy.graph("g") as g:
        g.fill(g.resident("x", samples.units.dtype, samples.units.shape), 0)
    run = g.compile("cpu")
    run.run(x=samples.units)
    with pytest.raises(vy.InvalidInput, match=r"'x': got one of \(3,\).*Fix: pass its units, as in x\.units"):
        run.run(x=samples)


def test_types_of_outputs() -> None:
    g = vy.graph("types")
    for dtype in (vy.f16, vy.bf16, vy.f64, vy.i8, vy.bool_):
        t = g.temporary(dtype, 3)
        g.fill(t, 1)
        g.output(dtype.name, t[1:])
    for backend in ("reference", "cpu"):
        outputs = g.compile(backend).run()
        assert {name: (array.dtype.name, array.tolist()) for name, array in outputs.items()} == {
            "f16": ("float16", [1, 1]),
            "bf16": ("bfloat16", [1, 1]),
            "f64": ("float64", [1, 1]),
            "i8": ("int8", [1, 1]),
            "bool": ("bool", [True, True]),
        }


@pytest.mark.parametrize("backend", ["reference", "cpu"])
def test_copies_keep_every_bit(backend: str) -> None:
    """Also of NaNs, which a store of a float would make canonical."""
    g = vy.graph("bits")
    x = g.input("x", vy.f32, 4)
    whole, part = g.temporary(vy.f32, 4), g.temporary(vy.f32, 2)
    g.copy(x, whole)
    g.copy(x[1:3], part)
    g.output("whole", whole)
    g.output("part", part)
    bits = np.array([0x7FC00001, 0xFF800001, 0x80000000, 0x7F800000], np.uint32)
    outputs = g.compile(backend).run(x=bits.view(np.float32))
    assert outputs["whole"].tobytes() == bits.tobytes()
    assert outputs["part"].tobytes() == bits[1:3].tobytes()


@pytest.mark.parametrize("backend", ["reference", "cpu"])
def test_a_grid_that_an_earlier_node_writes(backend: str) -> None:
    with vy.program("choose", workgroup_size=1) as p:
        n, grid = p.read("n", vy.u32, 1), p.write("grid", vy.u32, 3)
        grid[0] = n[0]
        grid[1] = 1
        grid[2] = 1
    choose = p.build()
    with vy.program("mark", workgroup_size=4) as p:
        grid, out = p.read("grid", vy.u32, 3), p.write("out", vy.u32, 16)
        p.indirect_dispatch(grid)
        out[p.global_id(0)] = 1
    g = vy.graph("indirect")
    marked = g.dispatch(p.build(), grid=g.dispatch(choose, n=g.input("n", vy.u32, 1))["grid"])["out"]
    g.output("marked", marked)
    run = g.compile(backend)
    for groups in (3, 0, 4):
        assert run.run(n=np.array([groups], np.uint32))["marked"].sum() == 4 * groups


@pytest.mark.parametrize("name", counted_graphs())
def test_launches_cost_what_is_counted(name: str) -> None:
    require_costs(vy.backend_for("cpu"), name)


@pytest.mark.parametrize(
    ("name", "count"),
    [("a fixpoint in 3 of 1000 iterations", 7), ("20 grids in buffers with a largest grid", 20)],
)
def test_launches_of_the_reference_are_as_many(name: str, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    backend, made = vy.backend_for("reference"), counted_graphs()[name].made
    dispatch, dispatched = backend.dispatch, 0

    def counting(*given: Any) -> Any:
        nonlocal dispatched
        dispatched += 1
        return dispatch(*given)

    monkeypatch.setattr(backend, "dispatch", counting)
    outputs = compile_graph(made.graph, backend, fusion=False).run(made.inputs)
    for output, expected in made.outputs.items():
        np.testing.assert_array_equal(outputs[output], expected)
    assert dispatched == count


@pytest.mark.parametrize("backend", ["reference", "cpu"])
def test_a_grid_that_is_larger_than_the_largest_is_a_trap(backend: str) -> None:
    run = compile_graph(levels_graph(is_bounded=True), vy.backend_for(backend))
    with pytest.raises(Trapped, match=r"node 'level' .* trapped with 'largest_grid', code 17"):
        run.run(counts=np.zeros(64, np.uint32), grid=np.array([17, 1, 1], np.uint32))


def test_grids_without_a_largest_are_read_by_the_host() -> None:
    backend, made = vy.backend_for("cpu"), counted_graphs()["20 grids in buffers with a largest grid"].made
    run = compile_graph(levels_graph(is_bounded=False), backend)
    outputs = run.run(made.inputs)
    np.testing.assert_array_equal(outputs["counts"], made.outputs["counts"])


def test_a_largest_grid_needs_a_grid_in_a_buffer() -> None:
    g = vy.graph("g")
    with pytest.raises(BuildError, match=r"program 'affine': it does not read its grid from a buffer. Fix: "):
        g.dispatch(AFFINE, x=g.input("x", vy.u32, 4), largest_grid=(1, 1, 1))


@pytest.mark.parametrize("backend", ["reference", "cpu"])
def test_empty_ranges(backend: str) -> None:
    g = vy.graph("empty")
    x = g.input("x", vy.u32, 0)
    y = g.dispatch(AFFINE, x=x)["out"]
    t = g.temporary(vy.u32, 0)
    g.copy(y, t)
    g.fill(t, 1)
    g.output("t", t)
    assert g.compile(backend).run(x=np.empty(0, np.uint32))["t"].size == 0


@pytest.mark.parametrize("backend", ["reference", "cpu"])
def test_a_trap_names_its_node(backend: str) -> None:
    with vy.program("check", workgroup_size=64) as p:
        x = p.read("x", vy.u32)
        out = p.write("out", vy.u32, like=x)
        i = p.global_id(0)
        with p.if_(x[i] == 7):
            p.trap(3, "seven")
        out[i] = x[i] + 1
    check = p.build()
    g = vy.graph("trapping")
    part = g.dispatch(check, x=g.input("x", vy.u32, 8), name="first")["out"]
    with g.repeat(2, name="loop"):
        g.copy(g.dispatch(check, x=part, name="second")["out"], part)
    g.output("y", part)
    run = g.compile(backend)
    start = np.zeros(8, np.uint32)
    assert run.run(x=start)["y"].tolist() == [3] * 8
    for value, name in ((7, "first"), (6, "loop.second"), (5, "loop.second")):
        start[2] = value
        with pytest.raises(Trapped) as caught:
            run.run(x=start)
        assert str(caught.value).startswith(f"node '{name}' ({__file__}:")
        assert (caught.value.tag, caught.value.trap_code, caught.value.invocation) == ("seven", 3, 2)
    start[2] = 0
    assert run.run(x=start)["y"].tolist() == [3] * 8


def test_options_of_a_node_that_sequences_do_not_have() -> None:
    g = vy.graph("options")
    x = g.input("x", vy.u32, 1000)
    g.dispatch(MIX, y=x)
    g.dispatch(MIX, y=x, config=vy.DispatchConfig(workgroup_override=(32, 1, 1), fixpoint_iterations=2))
    g.output("x", x)
    expected = X
    for _ in range(3):
        expected = expected ^ (expected >> np.uint32(3))
    for backend in ("reference", "cpu"):
        np.testing.assert_array_equal(g.compile(backend).run(x=X)["x"], expected)


def test_the_recorder_of_the_driver_is_the_same() -> None:
    assert issubclass(type(vy.graph("g")), GraphRecorder)
    origin = vy.graph("g").build().origin
    assert origin is not None
    assert origin.file == __file__


@pytest.mark.parametrize("backend", ["reference", "cpu"])
def test_what_a_conditional_store_leaves_is_zero_where_it_might_be_fused(backend: str) -> None:
    """The range of an output that is only written begins as zeros, also where the dispatch before has used it."""
    split, odd = programs()["split"], np.arange(len(X)) % 2 == 1
    g = vy.graph("read before")
    x = g.input("x", vy.u32, len(X))
    g.dispatch(split, x=g.dispatch(AFFINE, x=x)["out"], high=x)
    g.output("x", x)
    assert not g.compile(backend).run(x=X)["x"][odd].any()

    g = vy.graph("written before")
    x, z = g.input("x", vy.u32, len(X)), g.temporary(vy.u32, len(X))
    low = g.dispatch(split, x=x, low=z)["high"]
    g.dispatch(split, x=low, high=z)
    g.output("z", z)
    assert not g.compile(backend).run(x=X)["z"][odd].any()


# ── the command line ─────────────────────────────────────────────────────────────────────────────────────────────────


def invoke(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["graph", *map(str, arguments)])


@pytest.fixture
def file(tmp_path: Path) -> Path:
    g = vy.graph("twice")
    g.output("y", g.dispatch(AFFINE, x=g.dispatch(AFFINE, x=g.input("x", vy.u32, 4))["out"])["out"])
    path = tmp_path / "twice.graph"
    path.write_bytes(g.build().encode())
    np.save(tmp_path / "x.npy", X[:4])
    (tmp_path / "x.raw").write_bytes(X[:4].tobytes())
    return path


@pytest.mark.parametrize("backend", ["opencl", "reference-scalar"])
@pytest.mark.parametrize("seed", [*range(3), *(pytest.param(n, marks=pytest.mark.slow) for n in range(3, 6))])
def test_random_graphs_over_several_devices(seed: int, backend: str) -> None:
    """With fusion in each segment, over backends of different kinds."""
    made, choices = random_graph(5000 + seed, steps=16), random.Random(seed)
    names = [node.name for node in flatten(made.graph).graph.nodes]
    placement = {name: vy.backend_for(choices.choice([backend, "cpu"])) for name in names if choices.random() < 0.6}
    with compile_graph(made.graph, vy.backend_for("reference"), placement=placement) as run:
        outputs = run.run(made.inputs)
        assert outputs.keys() == made.outputs.keys()
        for name, expected in made.outputs.items():
            np.testing.assert_array_equal(outputs[name], expected)


def test_a_graph_names_devices_for_nodes() -> None:
    g = vy.graph("two devices")
    first = g.dispatch(AFFINE, x=g.input("x", vy.u32, len(X)), name="first")["out"]
    g.output("y", g.dispatch(AFFINE, x=first, name="second")["out"])
    with g.compile("reference", placement={"second": "cpu:0"}) as run:
        assert run.dispatches == ("first", "second")
        assert run.run(x=X)["y"].tolist() == (9 * X + 4).tolist()


@pytest.mark.parametrize("compiled", [lambda g, **k: g.compile(**k), lambda g, **k: compile_graph(g.build(), **k)])
def test_a_placement_is_a_mapping(compiled: Any) -> None:
    g = vy.graph("one device")
    g.output("y", g.dispatch(AFFINE, x=g.input("x", vy.u32, len(X)))["out"])
    with pytest.raises(vy.VyreError, match=r"^placement: got list, expected a mapping\. Fix: pass the backends by the"):
        compiled(g, backend=vy.backend_for("cpu"), placement=["affine"])


def test_a_range_is_no_array_of_the_host() -> None:
    g = vy.graph("ranges")
    for n, read in enumerate((vy.array, lambda x: vy.run(AFFINE, x=x))):
        with pytest.raises(vy.VyreError) as caught:
            read(g.input(f"x{n}", vy.u32, 4))
        assert caught.value.fix == "make it an output of the graph, or pass an array of the host"
        assert str(caught.value).count("Fix:") == 1


def test_a_graph_is_shown(file: Path) -> None:
    shown = invoke("show", file)
    assert (shown.exit_code, shown.output.splitlines()[0]) == (0, "graph twice {")
    assert shown.output.splitlines()[-1] == "3 nodes, 2 dispatches, 0 loops; input 16 B, temporary 32 B"
    document = json.loads(invoke("show", file, "--json").output)
    assert document["nodes"] == 3
    assert document["bytes"] == {"input": 16, "temporary": 32, "resident": 0}
    drawn = ET.fromstring(invoke("show", file, "--svg").output)
    assert (drawn.tag, len(list(drawn.iter("{http://www.w3.org/2000/svg}rect")))) == (
        "{http://www.w3.org/2000/svg}svg",
        3,
    )


def test_a_graph_is_shown_with_what_a_backend_decides(file: Path) -> None:
    shown = invoke("show", file, "--backend", "reference")
    assert "executor  queue: all of it is enqueued at once: the backend copies beside no launch" in shown.output
    document = json.loads(invoke("show", file, "--backend", "reference", "--json").output)
    assert [verdict["subject"] for verdict in document["verdicts"]][:2] == ["backend", "executor"]


def test_a_graph_is_tuned(file: Path) -> None:
    """The measured times are part of what is decided from then on."""
    source = file.with_name("x.npy")
    np.save(source, np.arange(4, dtype=np.uint32))
    tuned = json.loads(invoke("tune", file, "--input", f"x={source}", "--backend", "reference", "--json").output)
    assert len([trial for trial in tuned["trials"] if trial["verdict"] == "taken"]) == 1
    text = invoke("tune", file, "--input", f"x={source}", "--backend", "reference").output
    assert text.startswith("'twice' on ")
    document = json.loads(invoke("show", file, "--backend", "reference", "--json").output)
    executor = document["verdicts"][1]
    assert executor["reason"].startswith("all of it is enqueued at once: measured: ")
    assert set(executor["facts"]["ns"]) == {trial["form"] for trial in tuned["trials"]}


def test_a_recorded_graph_is_tuned() -> None:
    g = vy.graph("tuned")
    g.output("y", g.dispatch(AFFINE, x=g.input("x", vy.u32, 4))["out"])
    report = g.tune(x=X[:4], backend="reference")
    assert [trial.verdict for trial in report.trials] == ["taken"]
    assert g.compile("reference").verdict == report.verdict


@pytest.mark.parametrize("suffix", ["npy", "raw"])
def test_a_graph_is_run_over_files(file: Path, suffix: str) -> None:
    target = file.with_name("y.npy")
    arguments = ("--input", f"x={file.with_name(f'x.{suffix}')}", "--output", f"y={target}", "--backend", "reference")
    done = invoke("run", file, *arguments)
    assert done.exit_code == 0
    assert done.output.startswith("1 dispatch on reference in ")
    assert np.load(target).tolist() == [4, 13, 22, 31]
    document = json.loads(invoke("run", file, *arguments, "--no-fusion", "--json").output)
    assert (document["executor"], document["dispatches"], document["outputs"]) == (
        "queue",
        ["affine", "affine#2"],
        {"y": 4},
    )


def test_wrong_uses_end_with_what_to_do(file: Path) -> None:
    x = f"x={file.with_name('x.npy')}"
    for arguments, code, text in (
        (("run", file), 2, "got nothing, expected an array of 4 u32 --> argument 'x'"),
        (("run", file, "--input", x, "--output", "z=z.npy"), 2, "there is no output 'z', only y"),
        (("show", file.with_name("x.npy")), 2, "expected b'VYRG'"),
    ):
        done = invoke(*arguments)
        assert done.exit_code == code
        assert text in " ".join(done.output.split())
        assert "Fix: " in done.output


def test_findings_have_an_exit_code_of_their_own(tmp_path: Path) -> None:
    broken = Graph("g", (), (RepeatNode("loop", 0, None, ()),))
    path = tmp_path / "broken.graph"
    path.write_bytes(broken.encode())
    done = invoke("show", path)
    assert done.exit_code == 1
    assert "G008" in done.output


@pytest.mark.parametrize("backend", ["cpu", "opencl"])
def test_a_launch_of_a_graph_is_a_call_of_its_own(backend: str) -> None:
    g = vy.graph("solver")
    x = g.input("x", vy.u32, len(X))
    g.output("y", g.dispatch(AFFINE, x=g.dispatch(AFFINE, x=x)["out"])["out"])
    trace = Trace()
    with g.compile(traced(vy.backend_for(backend), trace), fusion=False) as run:
        np.testing.assert_array_equal(run.run(x=X)["y"], (X * 3 + 1) * 3 + 1)
        run.launch(x=X).result()
    spans = sorted(trace.spans(), key=lambda span: span.begin_ns)
    require_trace_events(trace.to_json())
    launches = [span for span in spans if span.name == "launch solver"]
    assert [span.facts["input_bytes"] for span in launches] == [4000, 4000]
    assert launches[0].track != launches[1].track, "a launch that does not block has a thread of its own"
    kernels = [span for span in spans if span.category == "kernel"]
    assert [span.name for span in kernels] == ["affine"] * 4
    for kernel, launch in zip(kernels, [launches[0]] * 2 + [launches[1]] * 2, strict=True):
        assert launch.begin_ns <= kernel.begin_ns <= kernel.end_ns <= launch.end_ns
        assert kernel.facts["clock"] == "device"


def test_the_command_traces_a_graph(tmp_path: Path) -> None:
    g = vy.graph("solver")
    g.output("y", g.dispatch(AFFINE, x=g.input("x", vy.u32, len(X)))["out"])
    file, x, out = tmp_path / "a.graph", tmp_path / "x.npy", tmp_path / "out.json"
    file.write_bytes(g.build().encode())
    np.save(x, X)
    result = CliRunner().invoke(main, ["graph", "run", str(file), "--input", f"x={x}", "--trace", str(out)])
    assert result.exit_code == 0, result.output
    document = json.loads(out.read_text())
    require_trace_events(document)
    found = {event["name"] for event in document["traceEvents"]}
    assert {"launch solver", "affine", "plan", "upload"} <= found


def test_tuning_takes_arrays_by_name() -> None:
    with pytest.raises(vy.InvalidInput, match=r"got ndarray, expected a mapping .*Fix: pass each array by its name"):
        vy.graph("g").tune(np.ones(4))
