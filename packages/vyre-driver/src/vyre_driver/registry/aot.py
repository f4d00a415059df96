"""Compilation ahead of time: the available targets, and a function that compiles for any of them."""

from __future__ import annotations

from vyre_driver.backend.aot import AotEmitter as AotEmitter, AotTargetId as AotTargetId
from vyre_driver.backend.config import DEFAULT_CONFIG, DispatchConfig
from vyre_driver.backend.received import kind_of
from vyre_driver.errors import BackendError, KernelCompileFailed, UnsupportedFeature
from vyre_driver.registry.backends import registered_backends, registered_backends_by_precedence, report_to_authors
from vyre_foundation.errors import without_remedy
from vyre_foundation.ir.argument import require
from vyre_foundation.ir.program import Program


def registered_aot_emitters() -> tuple[AotEmitter, ...]:
    """Return the emitters of all registered backends, ordered by target: for each the one of the preferred backend."""
    found: dict[str, AotEmitter] = {}
    for registration in registered_backends_by_precedence():
        for emitter in registration.aot:
            found.setdefault(emitter.target, emitter)
    return tuple(emitter for _, emitter in sorted(found.items()))


def emit_aot_target(target: str, program: Program, config: DispatchConfig = DEFAULT_CONFIG) -> bytes:
    """Compile a program ahead of time.

    Args:
        target: The target of an emitter.
        program: A valid program.
        config: The options of later dispatches.

    Returns:
        The contents of a file.

    Raises:
        UnsupportedFeature: There is no emitter for the target; the error lists the targets.
        KernelCompileFailed: The emitter failed.
    """
    require(emit_aot_target, Program, program)
    emitters = {emitter.target: emitter for emitter in registered_aot_emitters()}
    emitter = emitters.get(AotTargetId(target))
    if emitter is None:
        fix = f"name one of {', '.join(emitters)}" if emitters else "install a backend that compiles"
        raise UnsupportedFeature(f"code for target {target!r}", backend="every registered backend", fix=fix)
    fix = next(report_to_authors(known.id) for known in registered_backends() if emitter in known.aot)
    try:
        data: object = emitter.emit(program, config)
    except BackendError:
        raise
    except Exception as error:
        reason = f"its emitter raised {type(error).__name__}: {without_remedy(error)}"
        raise KernelCompileFailed(target, reason, fix=fix) from error
    if not isinstance(data, (bytes, bytearray)):
        raise KernelCompileFailed(target, f"its emitter returned {kind_of(data)}, expected bytes", fix=fix)
    return bytes(data)
