"""Emitters are those of registered backends; asking for one gives bytes or a typed error."""

import pytest

from vyre_driver import (
    AotEmitter,
    AotTargetId,
    Availability,
    BackendRegistration,
    DispatchConfig,
    KernelCompileFailed,
    UnsupportedFeature,
    emit_aot_target,
    registered_aot_emitters,
)
from vyre_driver.testing.mock import MockBackend
from vyre_driver.testing.registration import registered
from vyre_foundation.errors import TypeMismatch
from vyre_foundation.ir.program import Program
from vyre_foundation.text import parse

PROGRAM = parse("program p workgroup(4, 1, 1) {\n  write out: u32[4] @0;\n\n  out[global_id.x] = 7;\n}\n")


def name_and_budget(program: Program, config: DispatchConfig) -> bytes:
    return f"{program.name} {config.ulp_budget}".encode()


def broken(program: Program, config: DispatchConfig) -> bytes:
    raise ZeroDivisionError("oh")


def backend(id: str, precedence: int, *emitters: AotEmitter) -> BackendRegistration:
    return BackendRegistration(
        id=id,
        precedence=precedence,
        contract=1,
        factory=lambda: MockBackend(lambda plan, memory: None),
        probe=Availability.available,
        aot=emitters,
    )


def emitter(target: str, emit: object = name_and_budget, summary: str = "") -> AotEmitter:
    return AotEmitter(AotTargetId(target), emit, ".txt", summary)  # type: ignore[arg-type]


def test_targets_are_listed_by_id_the_preferred_backends_emitter_first() -> None:
    first, second = backend("x", 2, emitter("~b"), emitter("~a", summary="x")), backend("y", 1, emitter("~a"))
    with registered(first, second):
        found = {e.target: e for e in registered_aot_emitters()}
    assert sorted(found) == list(found)
    assert found[AotTargetId("~a")] is second.aot[0]
    assert found[AotTargetId("~b")] is first.aot[0]


def test_an_emitter_gets_program_and_configuration() -> None:
    with registered(backend("x", 1, emitter("~a"))):
        assert emit_aot_target("~a", PROGRAM) == b"p 0"
        assert emit_aot_target("~a", PROGRAM, DispatchConfig(ulp_budget=3)) == b"p 3"


def test_a_target_that_nobody_emits() -> None:
    with registered(backend("x", 1, emitter("~a"))), pytest.raises(UnsupportedFeature, match=r"name one of .*~a"):
        emit_aot_target("~nothing", PROGRAM)


def test_an_emitter_that_breaks() -> None:
    with (
        registered(backend("x", 1, emitter("~a", broken))),
        pytest.raises(KernelCompileFailed, match="its emitter raised ZeroDivisionError: oh"),
    ):
        emit_aot_target("~a", PROGRAM)


def test_swapped_arguments_are_named() -> None:
    program = Program("p", (), (1, 1, 1), ())
    with pytest.raises(TypeMismatch, match=r"emit_aot_target got 'opencl-c', expected a program"):
        emit_aot_target(program, "opencl-c")  # type: ignore[arg-type]
