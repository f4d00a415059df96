"""Handling of programs, stage by stage, over their size: no stage may be worse than linear.

Three shapes: one expression of n operators in a row; n operators that are all used twice, so that the tree behind the
graph is exponential; and n / 34 short statements, each with a chain of 30 operators. Stages that bring expressions
into being meet none of them alive, and stages that take a program take one of which nothing is known yet. One program
that goes through all five stages of its life may keep between them what it has found.
"""

from __future__ import annotations

import gc
import io
import itertools
import operator
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from harness import Case, Peer, Scale, Trial
from records import Record
from report import Table, per, pivot, ratio

from vyre_foundation import Program, decode, encode, fingerprint, parse, print_program, program, u32, validate
from vyre_foundation.ir.expr import interned_count
from vyre_foundation.ir.walk import program_expressions, statements
from vyre_foundation.optimize import optimize

TITLE = "Handling of programs"
FIVE = ("build", "validate", "encode", "decode", "fingerprint")
ALL_FIVE = "all five"
STAGES = (*FIVE, ALL_FIVE, "facts", "print", "parse", "optimize", "legalize", "emit")
SHAPES = ("chain", "sharing", "statements")
CALLS = 20
PEERS = {
    "vyre": Peer(modules=("vyre_foundation",)),
    "vyre lowering": Peer(modules=("vyre_driver_opencl",)),
    "msgspec": Peer(modules=("msgspec", "blake3")),
    "MLIR (jaxlib)": Peer(modules=("jaxlib", "blake3")),
    "tinygrad": Peer(modules=("tinygrad",), environment={"DEV": "PYTHON"}),
    "xDSL": Peer(modules=("xdsl", "blake3")),
}
LARGEST = {"xDSL": 1_000, "tinygrad": 10_000}
"""Nodes that peers get at most: beyond this size some take minutes."""
CLOCK = time.process_time
CHAIN = 30
APART = 2**20
"""Between the numbers that programs of different seeds begin with, so that they share nothing that was interned."""
OPS = (operator.xor, operator.add, operator.mul, operator.or_, operator.sub, operator.and_)
NAMES = ("xor", "add", "mul", "or", "sub", "and")


def cases(scale: Scale) -> list[Case]:
    sizes = (1_000, 10_000, 100_000) if scale is Scale.FULL else (100, 200)
    return [Case(shape, size) for shape in SHAPES for size in sizes]


def takes_part(peer: str, case: Case) -> bool:
    """Peers have the third shape only: it is what all of them can say."""
    return PEERS[peer].is_vyre or (case.name == "statements" and case.size <= LARGEST.get(peer, 100_000))


def prepare(peer: str, case: Case) -> dict[str, Trial]:
    match peer:
        case "vyre":
            return _stages(case)
        case "vyre lowering":
            return _lowering(case)
        case "msgspec":
            return _peer_stages(_msgspec(), case.size)
        case "MLIR (jaxlib)":
            return _peer_stages(_mlir(), case.size)
        case "tinygrad":
            return _peer_stages(_tinygrad(), case.size)
        case _:
            return _peer_stages(_xdsl(), case.size)


# ── vyre ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def build(case: Case, seed: int) -> Program:
    """A program of about that many nodes. Programs of different seeds share almost none."""
    with program(case.name, 64) as p:
        x = p.read("x", u32)
        out = p.write("out", u32, like=x)
        i = p.global_id(0)
        match case.name:
            case "chain":
                value = x[i] ^ seed
                for n in range(case.size):
                    value = OPS[n % len(OPS)](value, n % 7)
                out[i] = value
            case "sharing":
                value, before = x[i] ^ seed, x[i]
                for n in range(case.size):
                    value, before = OPS[n % len(OPS)](value, before), value
                out[i] = value
            case _:
                for n in range(max(1, case.size // (CHAIN + 4))):
                    value = x[i + (seed * APART + n)]
                    for k in range(CHAIN):
                        value = OPS[k % len(OPS)](value, k % 7)
                    out[i + n] = value
        return p.build_unchecked()


class Made:
    """What a stage brings into being, until it is forgotten: then none of its expressions is alive."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make
        self.latest: Any = None

    def run(self) -> None:
        self.latest = self._make()

    def forget(self) -> None:
        self.latest = None
        interned_count()  # counts after it has swept

    def trial(self, amount: float, is_right: Callable[[], bool] = lambda: True) -> Trial:
        return Trial(before=self.forget, run=self.run, is_right=is_right, amount=amount, clock=CLOCK)


def nodes(program: Program) -> float:
    return float(len(program_expressions(program)) + sum(1 for _ in statements(program.body)))


def _stages(case: Case) -> dict[str, Trial]:
    program = build(case, 1)
    wire, text = encode(build(case, 2)), print_program(build(case, 3))
    amount = nodes(program)
    built, decoded, parsed = Made(lambda: build(case, 4)), Made(lambda: decode(wire)), Made(lambda: parse(text))

    def of_program(stage: Callable[[Program], object]) -> Trial:
        fresh = [program]
        renew = lambda: fresh.__setitem__(0, replace(program))
        return Trial(before=renew, run=lambda: stage(fresh[0]), amount=amount, clock=CLOCK)

    return {
        "build": built.trial(amount),
        "validate": of_program(validate),
        "encode": of_program(encode),
        "decode": decoded.trial(amount, lambda: encode(decoded.latest) == wire),
        "fingerprint": of_program(fingerprint),
        ALL_FIVE: Trial(run=lambda: _one_life(case), before=_clean, amount=amount),
        "facts": of_program(_facts),
        "print": of_program(print_program),
        "parse": parsed.trial(amount, lambda: print_program(parsed.latest) == text),
    }


def _clean() -> None:
    """Nothing is left of what others made, so that no life pays for a look at all that is alive in this process."""
    interned_count()
    gc.collect()


def _one_life(case: Case) -> float:
    """Seconds for one program, built, validated, encoded and fingerprinted; then decoded, when it is forgotten."""
    started = CLOCK()
    made = build(case, 5)
    validate(made)
    wire = encode(made)
    fingerprint(made)
    took = CLOCK() - started
    del made
    interned_count()
    started = CLOCK()
    decode(wire)
    return took + CLOCK() - started


def _facts(program: Program) -> object:
    """All that validation can say, also what it finds only when it is asked."""
    facts = validate(program)
    return len(facts.ranges), len(facts.uniformity), facts.determinism


def _lowering(case: Case) -> dict[str, Trial]:
    """From facts to better ones, to kernels and from kernels to C, for the device that the OpenCL backend opens.

    Each stage gets what the builder made, not what the stage before it gives: so all of them meet as many nodes.
    """
    from vyre_driver import legalize
    from vyre_driver_opencl.emit import emit
    from vyre_driver_opencl.opened import open_device

    dialect = open_device("opencl").dialect
    program, target = build(case, 1), dialect.target()
    facts, amount = validate(program), nodes(program)
    lowered = legalize(build(case, 2), validate(build(case, 2)), target)
    return {
        "optimize": Made(lambda: optimize(facts)).trial(amount),
        "legalize": Made(lambda: legalize(program, facts, target)).trial(amount),
        "emit": Trial(run=lambda: emit(lowered, dialect, ()), amount=amount, clock=CLOCK),
    }


# ── peers: the same statements as rows of (op, operand, operand), rows named by position ─────────────────────────────


class Stages(NamedTuple):
    """What a peer can do, from rows to bytes and back."""

    build: Callable[[Sequence[tuple[str, int, int]]], Any]
    encode: Callable[[Any], bytes]
    decode: Callable[[bytes], Any]
    validate: Callable[[Any], object]
    fingerprint: Callable[[Any], object]


def rows(size: int, seed: int) -> list[tuple[str, int, int]]:
    """Constants 0 to 6 and the index, then blocks of a load, a chain and a store; `seed` says what is loaded."""
    made = [("constant", value, 0) for value in range(7)] + [("index", 0, 0)]
    for n in range(max(1, size // (CHAIN + 4))):
        made.append(("load", 7, seed + n))
        for k in range(CHAIN):
            made.append((NAMES[k % len(NAMES)], len(made) - 1, k % 7))
        made.append(("store", 7, len(made) - 1))
    return made


def _peer_stages(stages: Stages, size: int) -> dict[str, Trial]:
    """Some peers intern as vyre does or keep digests, so what is built, decoded or digested is new each time."""
    seeds = itertools.count(1, APART)
    fresh: dict[str, Any] = {}
    made = stages.build(rows(size, 0))

    def next_rows() -> None:
        fresh.clear()
        fresh["rows"] = rows(size, next(seeds) % 2**28)

    def next_program() -> None:
        next_rows()
        fresh["made"] = stages.build(fresh["rows"])

    def next_wire() -> None:
        next_program()
        fresh["wire"] = stages.encode(fresh.pop("made"))

    amount = float(len(rows(size, 0)))
    return {
        "build": Trial(before=next_rows, run=lambda: stages.build(fresh["rows"]), amount=amount, clock=CLOCK),
        "validate": Trial(run=lambda: stages.validate(made), amount=amount, clock=CLOCK),
        "encode": Trial(run=lambda: stages.encode(made), amount=amount, clock=CLOCK),
        "decode": Trial(before=next_wire, run=lambda: stages.decode(fresh["wire"]), amount=amount, clock=CLOCK),
        "fingerprint": Trial(
            before=next_program, run=lambda: stages.fingerprint(fresh["made"]), amount=amount, clock=CLOCK
        ),
    }


def _digest_of(encode: Callable[[Any], bytes]) -> Callable[[Any], object]:
    from blake3 import blake3

    return lambda made: blake3(encode(made)).digest()


def _msgspec() -> Stages:
    """The floor: records without types, scopes or meaning."""
    import msgspec

    node = msgspec.defstruct("Node", [("op", str), ("a", int), ("b", int)], array_like=True, frozen=True, gc=False)
    encode = msgspec.msgpack.Encoder().encode

    def validate(made: Sequence[Any]) -> None:
        for place, row in enumerate(made):
            if row.op in NAMES and not (row.a < place and row.b < place):
                raise ValueError(place)

    decode = msgspec.msgpack.Decoder(list[node]).decode  # type: ignore[valid-type]
    return Stages(lambda given: [node(*row) for row in given], encode, decode, validate, _digest_of(encode))


def _mlir() -> Stages:
    from jaxlib.mlir import ir
    from jaxlib.mlir._mlir_libs import _jax_mlir_ext
    from jaxlib.mlir.dialects import arith, func, memref

    context, registry = ir.Context(), ir.DialectRegistry()
    _jax_mlir_ext.register_dialects(registry)
    context.append_dialect_registry(registry)
    context.load_all_available_dialects()
    ops = (arith.XOrIOp, arith.AddIOp, arith.MulIOp, arith.OrIOp, arith.SubIOp, arith.AndIOp)
    classes = dict(zip(NAMES, ops, strict=True))

    def build(given: Sequence[tuple[str, int, int]]) -> Any:
        with context, ir.Location.unknown():
            word, index = ir.IntegerType.get_signless(32), ir.IndexType.get()
            memory = ir.MemRefType.get([2**20], word)
            module = ir.Module.create()
            with ir.InsertionPoint(module.body):
                block = func.FuncOp("kernel", ([memory, memory, index], [])).add_entry_block()
            x, out, i = block.arguments
            values: list[Any] = []
            with ir.InsertionPoint(block):
                for op, a, b in given:
                    match op:
                        case "constant":
                            value = arith.ConstantOp(word, a).result
                        case "index":
                            value = i
                        case "load":
                            place = arith.AddIOp(i, arith.ConstantOp(index, b).result).result
                            value = memref.LoadOp(x, [place]).result
                        case "store":
                            value = memref.StoreOp(values[b], out, [place])
                        case _:
                            value = classes[op](values[a], values[b]).result
                    values.append(value)
                func.ReturnOp([])
        return module

    def encode(module: Any) -> bytes:
        into = io.BytesIO()
        module.operation.write_bytecode(into)
        return into.getvalue()

    def decode(wire: bytes) -> Any:
        with context:
            return ir.Module.parse(wire)

    return Stages(build, encode, decode, lambda module: module.operation.verify(), _digest_of(encode))


def _xdsl() -> Stages:
    """It has text only."""
    from xdsl.context import Context
    from xdsl.dialects import arith, builtin, func, memref
    from xdsl.ir import Block, Region
    from xdsl.parser import Parser

    ops = (arith.XOrIOp, arith.AddiOp, arith.MuliOp, arith.OrIOp, arith.SubiOp, arith.AndIOp)
    classes = dict(zip(NAMES, ops, strict=True))
    context = Context()
    for dialect in (builtin.Builtin, arith.Arith, func.Func, memref.MemRef):
        context.load_dialect(dialect)
    memory, index = builtin.MemRefType(builtin.i32, [2**20]), builtin.IndexType()

    def build(given: Sequence[tuple[str, int, int]]) -> Any:
        block = Block(arg_types=[memory, memory, index])
        x, out, i = block.args
        values: list[Any] = []
        for op, a, b in given:
            match op:
                case "constant":
                    made = arith.ConstantOp.from_int_and_width(a, 32)
                case "index":
                    values.append(i)
                    continue
                case "load":
                    offset = arith.ConstantOp.from_int_and_width(b, index)
                    place = arith.AddiOp(i, offset)
                    block.add_ops([offset, place])
                    made = memref.LoadOp.get(x, [place.result])
                case "store":
                    made = memref.StoreOp.get(values[b], out, [place.result])
                case _:
                    made = classes[op](values[a], values[b])
            block.add_op(made)
            values.append(made.results[0] if made.results else None)
        block.add_op(func.ReturnOp())
        return builtin.ModuleOp([func.FuncOp("kernel", ((memory, memory, index), ()), Region(block))])

    def encode(module: Any) -> bytes:
        return str(module).encode()

    def decode(wire: bytes) -> Any:
        return Parser(context, wire.decode()).parse_module()

    return Stages(build, encode, decode, lambda module: module.verify(), _digest_of(encode))


def _tinygrad() -> Stages:
    """Its nodes are interned as ours are, so it too gets programs that are not alive. Its wire form is pickle."""
    import pickle

    from tinygrad import dtypes
    from tinygrad.uop.ops import Ops, UOp
    from tinygrad.uop.spec import spec_full, type_verify

    ops = dict(zip(NAMES, (Ops.XOR, Ops.ADD, Ops.MUL, Ops.OR, Ops.SUB, Ops.AND), strict=True))

    def build(given: Sequence[tuple[str, int, int]]) -> Any:
        x, out = UOp.param(0, dtypes.uint32, (2**20,)), UOp.param(1, dtypes.uint32, (2**20,))
        i = UOp.special(2**16, "gidx0")
        values: list[Any] = []
        for op, a, b in given:
            match op:
                case "constant":
                    value = UOp.const(a, dtypes.uint32)
                case "index":
                    value = i
                case "load":
                    place = i + b
                    value = x.index(place).load()
                case "store":
                    value = out.index(place).store(values[b])
                case _:
                    value = UOp(ops[op], dtypes.uint32, (values[a], values[b]))
            values.append(value)
        return UOp.sink(*(value for (op, _, _), value in zip(given, values, strict=True) if op == "store"))

    def validate(made: Any) -> None:
        type_verify(made, spec_full)

    loads = pickle.loads
    return Stages(build, pickle.dumps, loads, validate, lambda made: made.key)


# ── tables ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def tables(records: Sequence[Record]) -> list[Table]:
    named = [{**row, "peer": "vyre"} if row["peer"].startswith("vyre") else row for row in records]
    ours = [row for row in named if row["peer"] == "vyre"]
    sizes = sorted({row["size"] for row in records})
    show = partial(per, scale=1e6)
    growth = pivot(ours, rows=("case", "variant"), columns=("size",), show=show)
    for (shape, stage), cells in growth.rows.items():
        found = {row["size"]: row for row in ours if (row["case"], row["variant"]) == (shape, stage)}
        cells["last ÷ first"] = ratio(found.get(sizes[-1]), found.get(sizes[0]))
    growth.columns.append("last ÷ first")
    beside = pivot(_largest(_with_sums(named)), rows=("peer", "size"), columns=("variant",), show=show)
    return [
        growth.titled("µs of CPU time per node over the number of nodes; the last column is 1 where a stage is linear"),
        beside.titled("`statements` beside peers, µs of CPU time per node"),
    ]


def _with_sums(records: Sequence[Record]) -> list[Record]:
    """The rows of the statements, with all five stages together for those who go through them one at a time."""
    measured = [row for row in records if row["case"] == "statements" and "median" in row]
    found = {(row["peer"], row["size"], row["variant"]): row for row in measured}
    for peer, size in dict.fromkeys((row["peer"], row["size"]) for row in measured):
        parts = [found[peer, size, stage] for stage in FIVE if (peer, size, stage) in found]
        if len(parts) == len(FIVE) and (peer, size, ALL_FIVE) not in found:
            total = {"variant": ALL_FIVE, "median": sum(row["median"] for row in parts)}
            measured.append({**parts[0], **total})
    return sorted(measured, key=lambda row: STAGES.index(row["variant"]))


def _largest(records: Sequence[Record]) -> list[Record]:
    """Of each peer what it does at its largest size."""
    largest: dict[str, int] = {}
    for row in records:
        largest[row["peer"]] = max(row["size"], largest.get(row["peer"], 0))
    return [row for row in records if row["size"] == largest[row["peer"]]]
