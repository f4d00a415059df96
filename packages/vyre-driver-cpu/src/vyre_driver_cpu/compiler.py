"""From LLVM IR to object code, and to functions in memory."""

from __future__ import annotations

import ctypes
import re
import sys
import weakref
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import cache
from itertools import count
from typing import Any

import llvmlite.binding as llvm
from llvmlite.binding.ffi import ObjectRef

from vyre_driver_cpu.cpu import Cpu, host, llvm_lock

HAS_JITLINK = sys.platform != "win32"
"""Whether llvmlite offers JITLink, LLVM's newer linker of code in memory, and not RuntimeDyld alone."""
LEVEL = 3
LOCALLY = "; optimize: locally"
"""The first line of a long text whose vectors are made already, and of one with deep loops. LLVM's whole pipeline
combines its instructions again and again: 730 ms for SHA-256, where the passes that are of use take 30."""

LONG_TEXT = 10_000
"""Lines of a long text. The times of LLVM's pipeline and of its code generator grow faster than a text: 17 s for 1,000
stores and 176 s for 2,000. A long one has the passes of `LOCALLY` and the simplest code generator: 4 s and 19 s."""


class CompileFailed(Exception):
    """The compiler's refusal, in its own words."""


def compile_text(text: str, cpu: Cpu, level: int = LEVEL) -> bytes:
    """Optimized object code of a module, for a CPU; `CompileFailed` if the text is no LLVM IR."""
    try:
        with llvm_lock:
            return bytes(_code_generator(text, cpu, level).emit_object(optimized(text, cpu, level)))
    except RuntimeError as error:
        raise CompileFailed(str(error)) from error


def optimized(text: str, cpu: Cpu, level: int = LEVEL) -> llvm.ModuleRef:
    """The module after LLVM's optimizer; RuntimeError if the text is no LLVM IR."""
    target = target_machine(cpu.of_optimizer, level)
    head = f'target datalayout = "{target.target_data}"\ntarget triple = "{target.triple}"\n'
    module = llvm.parse_assembly(head + text)
    module.verify()
    if level and (text.startswith(LOCALLY) or _is_long(text)):
        _optimize_locally(module, target)
    else:
        _optimize(module, target, level)
    if not cpu.is_x86:
        return _fenced(module)
    module = _unknown_masks(_unknown_counts(module))
    return module if cpu.has("avx512f") else _masked_bits(module)


def _is_long(text: str) -> bool:
    return text.count("\n") > LONG_TEXT


def _code_generator(text: str, cpu: Cpu, level: int) -> llvm.TargetMachine:
    return target_machine(cpu, 0 if _is_long(text) else level)


def _optimize(module: llvm.ModuleRef, target: llvm.TargetMachine, level: int) -> None:
    """What LLVM does by itself at a level."""
    options = llvm.create_pipeline_tuning_options(level)
    options.loop_vectorization = options.slp_vectorization = options.loop_interleaving = level > 0
    options.loop_unrolling = False  # what is marked is unrolled all the same
    builder = llvm.create_pass_builder(target, options)
    passes = builder.getModulePassManager()
    try:
        passes.run(module, builder)
    finally:
        _free(passes)


def _free(passes: llvm.ModulePassManager) -> None:
    """What `close` should do: in llvmlite 0.50 it calls the `_dispose` of the first base class, which does nothing."""
    disposals = (vars(base).get("_dispose") for base in type(passes).__mro__ if base is not ObjectRef)
    dispose = next(filter(None, disposals), None)
    if dispose is not None:
        dispose(passes)
        passes.detach()


def _optimize_locally(module: llvm.ModuleRef, target: llvm.TargetMachine) -> None:
    """Variables into registers, each value once, no dead code."""
    builder = llvm.create_pass_builder(target, llvm.create_pipeline_tuning_options(LEVEL))
    passes = llvm.create_new_function_pass_manager()
    passes.add_sroa_pass()
    passes.add_simplify_cfg_pass()
    passes.add_new_gvn_pass()
    passes.add_dead_code_elimination_pass()
    for function in module.functions:
        if not function.is_declaration:
            passes.run(function, builder)


_ROTATED = re.compile(r"^( *%\S+ = .*\bcall <(\d+) x (i\d+)> @llvm\.fsh[lr]\..*, <\d+ x i\d+> )(%[^\s,()]+)(\).*)$")
_UNKNOWN = """\
  {0}.bits = load i64, ptr @every_bit
  {0}.none = xor i64 {0}.bits, -1
  {0}.part = {1} i64 {0}.none to {2}
  {0}.lane = insertelement <{3} x {2}> poison, {2} {0}.part, i64 0
  {0}.each = shufflevector <{3} x {2}> {0}.lane, <{3} x {2}> poison, <{3} x i32> zeroinitializer
  {0} = or <{3} x {2}> {4}, {0}.each
"""


def _unknown_counts(module: llvm.ModuleRef) -> llvm.ModuleRef:
    """The module, of which the code generator does not know by how much vectors are rotated.

    Where a CPU has no rotations of vectors, LLVM 22 shifts by the count and by what is left of the width. If it finds
    after that that all counts are 0, it takes the second shift for undefined. Rotations are those of the program, and
    what the optimizer finds in shifts.
    """
    if not any(function.name.startswith(("llvm.fshl.v", "llvm.fshr.v")) for function in module.functions):
        return module
    number = count()

    def hidden(match: re.Match[str]) -> str:
        before, lanes, type, counts, behind = match.groups()
        name, narrow = f"%unknown{next(number)}", "bitcast" if type == "i64" else "trunc"
        return _UNKNOWN.format(name, narrow, type, lanes, counts) + before + name + behind

    return _rewritten(module, "@llvm.fsh", _ROTATED, hidden)


_MASKED = re.compile(
    r"^( *.*\bcall .*@llvm\.masked\.(?:gather|scatter)\..*)<(\d+) x i1> (<i1 [^>]*i1 false[^>]*>)(.*)$"
)
_ACTIVE = """\
  {0}.bits = load i64, ptr @every_bit
  {0}.some = {3} i64 {0}.bits to i{1}
  {0}.each = bitcast i{1} {0}.some to <{1} x i1>
  {0} = and <{1} x i1> {0}.each, {2}
"""


def _unknown_masks(module: llvm.ModuleRef) -> llvm.ModuleRef:
    """The module with constant masks of gathers and scatters replaced by masks that the code generator does not know.

    Where a constant mask leaves out one half of a vector, LLVM 22 computes the other half alone. For Zen 4 and 5 it
    then selects no instruction for some extensions of integers, and ends the process.
    """
    each = ("llvm.masked.gather", "llvm.masked.scatter")
    if not any(function.name.startswith(each) for function in module.functions):
        return module
    number = count()

    def hidden(match: re.Match[str]) -> str:
        before, lanes, mask, behind = match.groups()
        name, narrow = f"%active{next(number)}", "bitcast" if lanes == "64" else "trunc"
        return f"{_ACTIVE.format(name, lanes, mask, narrow)}{before}<{lanes} x i1> {name}{behind}"

    return _rewritten(module, "@llvm.masked.", _MASKED, hidden)


_SELECTED = re.compile(
    r"^( *)(%\S+) = select <(\d+) x i1> (%[^\s,]+), "
    r"(<\d+ x i\d+>) (splat \(i\d+ \d+\)), <\d+ x i\d+> zeroinitializer.*$"
)


def _masked_bits(module: llvm.ModuleRef) -> llvm.ModuleRef:
    """The module with ``and`` in place of selections between a constant and 0, of vectors.

    For CPUs whose comparisons set all bits of a lane. LLVM 22 shifts these twice for some powers of two.
    """
    number = count()

    def masked(match: re.Match[str]) -> str:
        before, name, lanes, condition, type, constant = match.groups()
        bits = f"%bits{next(number)}"
        extended = f"{before}{bits} = sext <{lanes} x i1> {condition} to {type}"
        return f"{extended}\n{before}{name} = and {type} {bits}, {constant}"

    return _rewritten(module, " = select <", _SELECTED, masked)


_FUSED = re.compile(r"^( *)(%\S+) = (.*\bcall (float|double) @llvm\.fma\.(f\d+)\(.*)$")


def _fenced(module: llvm.ModuleRef) -> llvm.ModuleRef:
    """The module with a fence behind each scalar fused multiply-add, past which no instruction is selected.

    For arm64, LLVM takes ``-fma(a, b, c)`` for `fnmadd`, which is ``fma(-a, b, -c)``: where the sum is exactly 0, that
    has the other sign. LLVM makes no vectors of loops with fences, so they come after its optimizer.
    """
    number = count()

    def fenced(match: re.Match[str]) -> str:
        before, name, call, type, suffix = match.groups()
        fused = f"%fused{next(number)}"  # the optimizer leaves values without names, and numbers are no stems of names
        return f"{before}{fused} = {call}\n{before}{name} = call {type} @llvm.arithmetic.fence.{suffix}({type} {fused})"

    return _rewritten(module, "@llvm.fma.", _FUSED, fenced)


def _rewritten(
    module: llvm.ModuleRef, called: str, pattern: re.Pattern[str], replacement: Callable[[re.Match[str]], str]
) -> llvm.ModuleRef:
    """The module with what `pattern` finds replaced, in lines that contain `called`; the others are most of it."""
    text = str(module)
    lines = (pattern.sub(replacement, line) if called in line else line for line in text.split("\n"))
    changed = "\n".join(lines)
    return module if changed == text else llvm.parse_assembly(changed)


def assembly(text: str, cpu: Cpu) -> str:
    """What `compile_text` makes of a module, to read."""
    with llvm_lock:
        return str(_code_generator(text, cpu, LEVEL).emit_assembly(optimized(text, cpu)))


@cache
def target_machine(cpu: Cpu, level: int) -> llvm.TargetMachine:
    """LLVM's code generator for a CPU.

    Code and its constants are side by side in memory, and instructions reach them by offsets of 32 bits; JITLink adds
    tables and stubs for what is further away. RuntimeDyld does not on x86-64, so addresses are whole for it.
    """
    target = llvm.Target.from_triple(cpu.triple)
    model = "large" if cpu.is_x86 and (not HAS_JITLINK or "windows" in cpu.triple) else "small"
    return target.create_target_machine(
        cpu=cpu.model, features=cpu.features, opt=level, reloc="pic", codemodel=model, jit=True
    )


class LoadedCode:
    """Object code in memory, with the addresses of its functions. It is unloaded with the last reference to it."""

    def __init__(self, code: bytes, names: Sequence[str]) -> None:
        try:
            with llvm_lock:
                tracker = _linked(code, names)
        except RuntimeError as error:
            raise CompileFailed(str(error)) from error
        self.addresses = {name: int(tracker[name]) for name in names}
        unload = weakref.finalize(self, _unload, [tracker], llvm_lock, sys.is_finalizing)
        unload.atexit = False  # threads may still run it then

    def function(self, name: str, *types: type, result: type | None = None) -> Callable[..., Any]:
        """A function, as Python calls it; calls release the interpreter's lock."""
        return ctypes.CFUNCTYPE(result, *types)(self.addresses[name])

    def locked_function(self, name: str, *types: type, result: type | None = None) -> Callable[..., Any]:
        """The same; calls keep the lock, and raise the error that a function of the interpreter has set."""
        made: Callable[..., Any] = _locked_type(result, *types)(self.addresses[name])
        return made


@cache
def _locked_type(result: type | None, *types: type) -> type[Any]:
    """The type of functions that keep the lock, of which ``ctypes`` makes another class at each call."""
    return ctypes.PYFUNCTYPE(result, *types)


_number = count()


def _linked(code: bytes, names: Sequence[str]) -> llvm.ResourceTracker:
    builder = llvm.JITLibraryBuilder().add_object_img(code).add_current_process()
    for name in names:
        builder.export_symbol(name)
    return builder.link(_jit(), f"vyre_{next(_number)}")


def _unload(
    trackers: list[llvm.ResourceTracker], lock: AbstractContextManager[Any], is_finalizing: Callable[[], bool]
) -> None:
    """Drop the last reference to loaded code, which calls LLVM.

    While the interpreter is finalizing, names of modules are gone, those of llvmlite too, and the process unloads it.
    """
    if is_finalizing():
        trackers.pop().detach()
        return
    with lock:
        trackers.clear()


@cache
def _jit() -> llvm.LLJIT:
    """The linker of this process, alive until its end: code in memory may run on any thread."""
    return llvm.create_lljit_compiler(target_machine(host(), LEVEL), use_jit_link=HAS_JITLINK)
