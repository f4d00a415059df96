"""Backends that worker processes load by ``backends:NAME``: one that is right, and some that misbehave."""

import ctypes
import os
import re
import sys
import time
from collections.abc import Sequence
from dataclasses import replace

from vyre_driver.backend.config import DEFAULT_CONFIG, DispatchConfig
from vyre_driver.backend.registration import Availability, BackendRegistration
from vyre_driver.backend.results import Inputs, Outputs, host_bytes
from vyre_driver.device.profile import DeviceProfile
from vyre_driver.errors import UnsupportedFeature
from vyre_driver.testing.mock import MockBackend
from vyre_foundation.dtype import f64
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.walk import program_expressions
from vyre_reference.vector import evaluate


class Right(MockBackend, contract=1):
    def __init__(self, id: str = "right") -> None:
        super().__init__(evaluate, id)


class Talkative(Right, contract=1):
    """Prints where the protocol would be, if it were not kept apart."""

    def dispatch(self, program: Program, inputs: Inputs, config: DispatchConfig = DEFAULT_CONFIG) -> Outputs:
        sys.stdout.write("hello from Python\n")
        os.write(1, b"hello from a library\n")
        return super().dispatch(program, inputs, config)


class Fragile(Right, contract=1):
    """Dies, hangs, refuses or lies, by the name of the program."""

    def dispatch(self, program: Program, inputs: Inputs, config: DispatchConfig = DEFAULT_CONFIG) -> Outputs:
        if program.name == "sub_u8":
            os.write(2, b"my last words\n")
            os.abort()
        if program.name == "max_u8":
            ctypes.string_at(0)
        if program.name == "mul_u8":
            time.sleep(60)
        if program.name == "min_u8":
            re.match("(a+)+$", "a" * 60 + "b")  # holds the interpreter's lock, for years
        if program.name == "shl_u8":
            sys.exit(3)
        if program.name == "div_u8":
            raise ZeroDivisionError("not a typed error")
        if any(node.dtype is f64 for node in program_expressions(program)):
            raise UnsupportedFeature("f64", backend="fragile")
        outputs = super().dispatch(program, inputs, config)
        if program.name == "rem_u8":
            outputs[0] = memoryview(bytes(outputs[0].nbytes))
        return outputs


USED: list[str] = []


class Marking(Right, contract=1):
    """Dispatches once in a process."""

    def dispatch(self, program: Program, inputs: Inputs, config: DispatchConfig = DEFAULT_CONFIG) -> Outputs:
        if USED:
            raise ValueError("this process was used before")
        USED.append(program.name)
        return super().dispatch(program, inputs, config)


class Leaving(Right, contract=1):
    """Ends the process as if all were well."""

    def dispatch(self, program: Program, inputs: Inputs, config: DispatchConfig = DEFAULT_CONFIG) -> Outputs:
        os.write(2, b"I leave\n")
        os._exit(0)


class Forgetful(Right, contract=1):
    """Every second dispatch gives zeros, and inputs are written to."""

    def __init__(self) -> None:
        super().__init__("forgetful")
        self.calls = 0

    def dispatch(self, program: Program, inputs: Inputs, config: DispatchConfig = DEFAULT_CONFIG) -> Outputs:
        outputs = super().dispatch(program, inputs, config)
        self.calls += 1
        if program.name == "add_u8":
            host_bytes("x", inputs[0], writable=True)[0] ^= 1
        return [memoryview(bytes(view.nbytes)) for view in outputs] if self.calls % 2 == 0 else outputs


class Together(Right, contract=1):
    """Right for programs that it hears of alone. `fault` says what becomes of those that are compiled together."""

    fault = ""

    def __init__(self, id: str) -> None:
        super().__init__(id)
        self.together: set[str] = set()

    def precompile(self, programs: Sequence[Program], config: DispatchConfig = DEFAULT_CONFIG) -> None:
        if self.fault == "refuses" and any(program.subgroup_size for program in programs):
            raise UnsupportedFeature("subgroups", backend="together")
        self.together |= {program.fingerprint() for program in programs}
        if self.fault == "dies" and len(programs) > 1:
            os.write(2, b"too much at once\n")
            os.abort()
        if self.fault == "waits":
            time.sleep(60)
        if self.fault == "raises":
            raise KeyError("not a typed error")

    def dispatch(self, program: Program, inputs: Inputs, config: DispatchConfig = DEFAULT_CONFIG) -> Outputs:
        outputs = super().dispatch(program, inputs, config)
        if self.fault == "lies" and program.fingerprint() in self.together:
            return [memoryview(bytes(view.nbytes)) for view in outputs]
        if self.fault == "refuses" and program.fingerprint() not in self.together:
            raise KeyError("it was not compiled before")
        return outputs


class DiesTogether(Together, contract=1):
    fault = "dies"


class RaisesTogether(Together, contract=1):
    fault = "raises"


class WaitsTogether(Together, contract=1):
    fault = "waits"


class LiesTogether(Together, contract=1):
    fault = "lies"


class RefusesTogether(Together, contract=1):
    """Refuses subgroups, and shows by its errors which programs it was not told of before."""

    fault = "refuses"


class CountsCores(Right, contract=1):
    """Wrong where it may use more than one core."""

    def device_profile(self) -> DeviceProfile:
        return replace(super().device_profile(), device=f"{len(os.sched_getaffinity(0))} cores")

    def dispatch(self, program: Program, inputs: Inputs, config: DispatchConfig = DEFAULT_CONFIG) -> Outputs:
        outputs = super().dispatch(program, inputs, config)
        several = len(os.sched_getaffinity(0)) > 1
        return [memoryview(bytes(view.nbytes)) for view in outputs] if several else outputs


def registered(backend: type[Right], id: str) -> BackendRegistration:
    def factory() -> Right:
        return backend() if backend is Forgetful else backend(id)

    return BackendRegistration(id=id, precedence=900, contract=1, factory=factory, probe=Availability.available)


RIGHT = registered(Right, "right")
TALKATIVE = registered(Talkative, "talkative")
MARKING = registered(Marking, "marking")
LEAVING = registered(Leaving, "leaving")
FRAGILE = registered(Fragile, "fragile")
COUNTS_CORES = registered(CountsCores, "counts-cores")
DIES_TOGETHER = registered(DiesTogether, "dies-together")
RAISES_TOGETHER = registered(RaisesTogether, "raises-together")
WAITS_TOGETHER = registered(WaitsTogether, "waits-together")
LIES_TOGETHER = registered(LiesTogether, "lies-together")
REFUSES_TOGETHER = registered(RefusesTogether, "refuses-together")
FORGETFUL = registered(Forgetful, "forgetful")
QUITS = BackendRegistration(
    id="quits", precedence=900, contract=1, factory=lambda: sys.exit("the license has expired"),
    probe=Availability.available,
)  # fmt: skip
ABSENT = BackendRegistration(
    id="absent", precedence=900, contract=1, factory=Right,
    probe=lambda: Availability.unavailable("there is no device", "plug one in"),
)  # fmt: skip
