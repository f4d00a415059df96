"""Gates: what each denies, and that no form of dispatch goes round them."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from inspect import signature
from typing import Any, ClassVar

import pytest

from vyre_driver.backend.config import DEFAULT_CONFIG, DispatchConfig
from vyre_driver.backend.contract import VyreBackend
from vyre_driver.backend.delegate import contract_methods, takes_programs
from vyre_driver.backend.resources import ResidentDispatchStep, ResidentWave
from vyre_driver.errors import InvalidProgram, PolicyDenied
from vyre_driver.observe.live import compile_many
from vyre_driver.policy.enforce import (
    AllowedOps,
    Chain,
    DeniedFeatures,
    EnforceGate,
    EnforceVerdict,
    GatedBackend,
    MaxDeclaredBytes,
    ProvenDeterminism,
)
from vyre_driver.testing.full import FullBackend
from vyre_foundation import dialects, parse
from vyre_foundation.dialects import Composition
from vyre_foundation.dtype import u32
from vyre_foundation.ir.program import Program
from vyre_foundation.validate.facts import Feature


def program(body: str, declarations: str = ""):
    text = f"program p workgroup(4, 1, 1) {{ read a: u32[] @0; write out: u32[len(a)] @1; {declarations} {body} }}"
    return parse(text)


PLAIN = program("out[global_id.x] = a[global_id.x] * 2 + 1;")
RACING = program("out[0] = global_id.x;")


@pytest.fixture(autouse=True)
def registered():
    dialects.register([Composition("here.same", {(u32,): u32}, lambda x: x)])
    yield
    dialects.unregister(["here.same"])


CALLING = "out[global_id.x] = call<u32> here.same(a[global_id.x]);"


@pytest.mark.parametrize(
    ("gate", "allowed", "denied", "detail"),
    [
        (AllowedOps({"mul", "add"}), PLAIN, program("out[global_id.x] = a[global_id.x] / 2;"), "it uses div"),
        (AllowedOps({"here"}), CALLING, program("out[global_id.x] = clz(a[0]);"), "it uses clz"),
        (AllowedOps({"here.same"}), CALLING, PLAIN, "it uses add, mul"),
        (AllowedOps({"here.other"}), program("return;"), CALLING, "it uses here.same"),
        (DeniedFeatures(Feature.TRAP), PLAIN, program('trap(1, "x");'), "it needs trap"),
        (
            ProvenDeterminism(),
            PLAIN,
            RACING,
            (
                "D001 at body[0]: the store to 'out' may meet itself, "
                "by two invocations of one workgroup in one barrier interval"
            ),
        ),
        (
            MaxDeclaredBytes(64),
            program("return;", "workgroup w: u32[16];"),
            program("return;", "workgroup w: u32[17];"),
            "it declares 68 bytes (at most 64)",
        ),
    ],
)
def test_a_gate_allows_and_denies(gate: EnforceGate, allowed, denied, detail: str) -> None:
    allowed, denied = (program(p) if isinstance(p, str) else p for p in (allowed, denied))
    assert gate.evaluate(allowed.validate()) == EnforceVerdict.allow()
    verdict = gate.evaluate(denied.validate())
    assert (verdict.is_allowed, verdict.policy, verdict.detail) == (False, gate.name(), detail)
    assert verdict.fix


def test_the_first_gate_of_a_chain_that_denies_decides() -> None:
    chain = Chain(ProvenDeterminism(), AllowedOps({"mul"}))
    assert chain.name() == "proven determinism, allowed ops"
    assert chain.evaluate(PLAIN.validate()).policy == "allowed ops"
    assert chain.evaluate(RACING.validate()).policy == "proven determinism"
    assert Chain().evaluate(RACING.validate()).is_allowed


def test_a_denied_program_does_not_run() -> None:
    ran = []
    backend = GatedBackend(FullBackend(lambda plan, memory: ran.append(plan)), ProvenDeterminism())
    with pytest.raises(PolicyDenied) as caught:
        backend.dispatch(RACING, [bytes(16)])
    assert str(caught.value).startswith("program 'p': the policy 'proven determinism' denies it: D001 at body[0]")
    assert not ran
    backend.dispatch(PLAIN, [bytes(16)])
    assert len(ran) == 1


ROWS = parse(
    """
    program rows workgroup(4, 2, 1) {
      uniform width: u32[1] @0;
      read a: u32[] @1;
      write out: u32[len(a)] @2;
      out[global_id.y * width[0] + global_id.x] = a[global_id.y * width[0] + global_id.x];
    }
    """
)


@pytest.mark.parametrize("gate", [ProvenDeterminism(), Chain(AllowedOps({"add", "mul"}), ProvenDeterminism())])
def test_a_launch_runs_whose_values_prove_what_the_program_does_not(gate: EnforceGate) -> None:
    ran: list[object] = []
    backend = GatedBackend(FullBackend(lambda plan, memory: ran.append(plan)), gate)
    config = DispatchConfig(grid_override=(2, 3, 1))
    backend.dispatch(ROWS, [width(8), bytes(4 * 48)], config)
    assert len(ran) == 1
    with pytest.raises(PolicyDenied, match=r"denies it: D001 at body\[0\]: the store to 'out'"):
        backend.dispatch(ROWS, [width(7), bytes(4 * 48)], config)
    with pytest.raises(PolicyDenied):
        backend.compile_native(ROWS, config)
    with pytest.raises(PolicyDenied):
        backend.dispatch(ROWS, [width(8), bytes(3)], config)
    assert len(ran) == 1


def test_a_gate_that_does_not_look_at_launches_denies_them() -> None:
    backend = GatedBackend(FullBackend(lambda plan, memory: None), Chain(ProvenDeterminism(), AllowedOps({"mul"})))
    with pytest.raises(PolicyDenied, match="it uses add"):
        backend.dispatch(ROWS, [width(8), bytes(4 * 48)], DispatchConfig(grid_override=(2, 3, 1)))


def width(n: int) -> bytes:
    return n.to_bytes(4, "little")


TAKING = [name for name in contract_methods(VyreBackend) if takes_programs(name)]


def test_what_takes_programs() -> None:
    named = {n for n in contract_methods(VyreBackend) if n.startswith(("dispatch", "compile", "precompile"))}
    assert set(TAKING) == named


@pytest.mark.parametrize("name", TAKING)
@pytest.mark.parametrize("wrapped", [list, tuple, iter, deque], ids=lambda kind: kind.__name__)
def test_no_method_goes_round_the_gate(name: str, wrapped: Any) -> None:
    ran: list[object] = []
    backend = GatedBackend(FullBackend(lambda plan, memory: ran.append(plan)), ProvenDeterminism())
    allowed, denied = (ResidentDispatchStep(program=p, resources=()) for p in (PLAIN, RACING))
    values = {
        "Program": lambda: RACING,
        "Sequence[Program]": lambda: wrapped([PLAIN, RACING]),
        "Sequence[ResidentDispatchStep]": lambda: wrapped([allowed, denied]),
        "Sequence[ResidentWave]": lambda: wrapped([ResidentWave(steps=[allowed]), ResidentWave(steps=[denied])]),
        "int": lambda: 1,
    }
    parameters = [p for p in signature(getattr(VyreBackend, name)).parameters.values() if p.name != "self"]
    given = {p.name: values.get(str(p.annotation), list)() for p in parameters if p.default is p.empty}
    for positional in (True, False):
        with pytest.raises(PolicyDenied):
            getattr(backend, name)(*given.values()) if positional else getattr(backend, name)(**given)
        given = {p.name: values.get(str(p.annotation), list)() for p in parameters if p.default is p.empty}
    assert not ran


def test_programs_that_are_compiled_together_pass_the_gate_together() -> None:
    class Noting(FullBackend, contract=1):
        compiled: ClassVar[list[object]] = []

        def precompile(self, programs: Sequence[Program], config: DispatchConfig = DEFAULT_CONFIG) -> None:
            self.compiled.extend(programs)

    backend = GatedBackend(Noting(lambda plan, memory: None), ProvenDeterminism())
    with pytest.raises(PolicyDenied):
        compile_many(backend, [PLAIN, RACING])
    assert Noting.compiled == []
    backend.precompile(iter([PLAIN, PLAIN]))  # type: ignore[arg-type]
    assert Noting.compiled == [PLAIN, PLAIN]


def test_an_invalid_program_is_invalid_first() -> None:
    backend = GatedBackend(FullBackend(lambda plan, memory: None), ProvenDeterminism())
    with pytest.raises(InvalidProgram):
        backend.dispatch(program("x = 1;"), [b""])
