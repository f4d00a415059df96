"""One question to one backend, answered in a process of its own: two device runtimes in one process may not get along.

``python -m vyre.cli.child ID`` prints one JSON document: the backend's profile and whether it computes rightly. With
``--measure`` the device first proves and times all of its spellings.
"""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
import time
from typing import Any

import numpy as np

from vyre.cli.raised import of_a_backend
from vyre.execution import backend_for
from vyre_driver import EngineBackend, compile_with_telemetry, process
from vyre_driver.registry.backends import report_to_authors, split_device
from vyre_driver.tune.candidate import TunedVariant
from vyre_foundation import Program, program, u32
from vyre_foundation.errors import VyreError

TIMEOUT_S = 120.0


def ask(backend: str, *, measure: bool = False) -> dict[str, Any]:
    """What the backend says in a fresh process, and what that took; a crash or a hang is an answer too."""
    started = time.perf_counter()
    report = _ask(backend, *(["--measure"] if measure else []))
    return {**report, "took_s": time.perf_counter() - started}


def _ask(*arguments: str) -> dict[str, Any]:
    try:
        done = process.run(process.python("-m", "vyre.cli.child", *arguments), seconds=TIMEOUT_S)
    except subprocess.TimeoutExpired:
        return {"error": f"no answer within {TIMEOUT_S:g} s", "fix": "check the device's driver"}
    reason = process.failure(done)
    if reason is not None:
        crashed = not 0 < done.returncode < 256  # by a signal, or what Windows has for it
        return {
            "error": reason,
            "fix": "reinstall the device's driver" if crashed else report_to_authors(split_device(arguments[0])[0]),
        }
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def smoke_program() -> Program:
    """Enough to see that compiling, launching and reading back work."""
    with program("smoke", workgroup_size=64) as p:
        x = p.read("x", u32)
        y = p.write("y", u32, like=x)
        i = p.global_id(0)
        y[i] = x[i] * 2654435761 ^ x[i] >> 15
    return p.build()


def answer(backend: str, *, measure: bool = False) -> dict[str, Any]:
    """The profile of the backend, and the time and success of a first small dispatch."""
    try:
        started = time.perf_counter()
        device = backend_for(backend)
        device.prepare()
        profile = device.device_profile()
        opened = time.perf_counter()
        x = np.arange(1000, dtype=np.uint32)
        build = compile_with_telemetry(device, smoke_program())
        y = np.frombuffer(build.pipeline.dispatch([x])[0], np.uint32)
        done = time.perf_counter()
        spellings: tuple[TunedVariant, ...] = ()
        if isinstance(device, EngineBackend):
            spellings = device.measure_spellings() if measure else device.spellings()
    except VyreError as error:
        return {"error": error.message, "fix": error.fix}
    except (Exception, SystemExit) as error:
        found = of_a_backend(error)
        if found is None:
            raise
        return {"error": found.message, "fix": found.fix}
    facts = {name: value for name, value in _plain(profile).items() if value not in (None, "", ())}
    right = bool(np.array_equal(y, x * np.uint32(2654435761) ^ x >> np.uint32(15)))
    return {
        "version": device.version(),
        "ops": len(device.supported_ops()),
        "profile": facts,
        "computes": right,
        "build": build.manifest.short(),
        "compiled_before": build.cache_hit,
        "spellings": [
            {
                "op": c.variant.op,
                "type": str(c.variant.operand),
                "text": c.variant.text,
                "wrong": c.wrong,
                "picoseconds": c.picoseconds,
                "chosen": c.is_chosen,
            }
            for c in spellings
        ],
        "open_s": opened - started,
        "first_dispatch_s": done - opened,
    }


def _plain(profile: Any) -> dict[str, Any]:
    return {name: getattr(value, "value", value) for name, value in dataclasses.asdict(profile).items()}


if __name__ == "__main__":
    process.end_with_parent()
    with process.answer_stream() as stream:
        stream.write(json.dumps(answer(sys.argv[1], measure="--measure" in sys.argv[2:])))
