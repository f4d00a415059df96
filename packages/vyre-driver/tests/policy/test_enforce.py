"""Gates: what each denies, and that no form of dispatch goes round them."""

from __future__ import annotations

import pytest

from vyre_driver.backend.contract import VyreBackend
from vyre_driver.backend.delegate import contract_methods
from vyre_driver.backend.resources import ResidentDispatchStep
from vyre_driver.errors import InvalidProgram, PolicyDenied
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
from vyre_foundation import dialect, parse
from vyre_foundation.dialect import Composition
from vyre_foundation.dtype import u32
from vyre_foundation.validate.facts import Feature


def program(body: str, declarations: str = ""):
    text = f"program p workgroup(4, 1, 1) {{ read a: u32[] @0; write out: u32[len(a)] @1; {declarations} {body} }}"
    return parse(text)


PLAIN = program("out[global_id.x] = a[global_id.x] * 2 + 1;")
RACING = program("out[0] = global_id.x;")


@pytest.fixture(autouse=True)
def registered():
    dialect.register([Composition("here.same", {(u32,): u32}, lambda x: x)])
    yield
    dialect.unregister(["here.same"])


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
        backend.dispatch(RACING, [b""])
    assert str(caught.value).startswith("program 'p': the policy 'proven determinism' denies it: D001 at body[0]")
    assert not ran
    backend.dispatch(PLAIN, [bytes(16)])
    assert len(ran) == 1


@pytest.mark.parametrize("name", [n for n in contract_methods(VyreBackend) if n.startswith(("dispatch", "compile"))])
def test_no_form_of_dispatch_goes_round_the_gate(name: str) -> None:
    backend = GatedBackend(FullBackend(lambda plan, memory: None), ProvenDeterminism())
    step = ResidentDispatchStep(program=RACING, resources=())
    arguments = {True: ([step], [step], 1, [], []), False: (RACING, [b""])}["sequence" in name]
    with pytest.raises(PolicyDenied):
        getattr(backend, name)(*arguments)


def test_an_invalid_program_is_invalid_first() -> None:
    backend = GatedBackend(FullBackend(lambda plan, memory: None), ProvenDeterminism())
    with pytest.raises(InvalidProgram):
        backend.dispatch(program("x = 1;"), [b""])
