"""A backend in sixty lines: it prints C, compiles it with the `cc` of the machine, and runs workgroup by workgroup."""

import ctypes
import subprocess
import tempfile
from itertools import product
from pathlib import Path

from vyre_driver import (
    Availability,
    BackendRegistration,
    CDialect,
    DevicePort,
    DeviceProfile,
    EngineBackend,
    Groups,
    KernelCompileFailed,
    SourceUnit,
    c_casts,
    c_operators,
    print_unit,
)
from vyre_foundation import bool_, f32, i8, i16, i32, u8, u16, u32
from vyre_foundation.ir import Access, IdKind, Memory

# fmt: off
REGISTERS, PATTERNS = (bool_, u32, i32, f32), (u32, i32, f32)
TYPES = {t: f"{'int' if t.is_signed else 'uint'}{t.bits}_t" for t in (u8, i8, u16, i16, u32, i32)}
TYPES |= {bool_: "_Bool", f32: "float"}
IDS = {IdKind.WORKGROUP_ID: "group", IdKind.GLOBAL_ID: "group", IdKind.NUM_WORKGROUPS: "groups"}
DIALECT = CDialect(
    name="first",
    prelude="#include <stdint.h>\nuint32_t group[3], groups[3];",
    types=TYPES,
    literals={bool_: "{0}", u32: "{0}u", i32: "{0}", f32: "{0}f"},
    kernel="void {name}({parameters})",
    parameters={(memory, access): "{type} *{name}" for memory in Memory for access in Access},
    length_parameter="uint32_t {name}",
    workgroup="{type} {name}[{count}];",
    constant="static const {type} {name}[{count}] = {{{values}}};",
    ids={(kind, axis): f"{name}[{axis}]" for kind, name in IDS.items() for axis in range(3)},
    ops=c_operators(REGISTERS), casts=c_casts(TYPES),
    bitcasts={(a, b): f"((union {{{{ {TYPES[a]} a; {TYPES[b]} b; }}}}){{{{{{0}}}}}}).b"
              for a in PATTERNS for b in PATTERNS if a is not b},
    barriers={}, groups=Groups.LOOPS,  # one call of a kernel runs all invocations of a workgroup
)

class FirstPort(DevicePort[ctypes.CDLL, ctypes.Array[ctypes.c_char], None]):
    emitter_version = "first 1"
    def probe(self):
        return DeviceProfile(backend="first", device="this CPU", max_workgroup_size=(1024, 1024, 64),
                             max_invocations_per_workgroup=1024)
    def target(self):
        return DIALECT.target()
    def emit(self, lowered):
        source = print_unit(lowered, DIALECT)
        return SourceUnit(source.text, source.entries, "c")
    def compile(self, unit, queue=0):
        with tempfile.TemporaryDirectory() as folder:
            library = str(Path(folder) / "kernels.so")
            command = [*"cc -x c -std=c11 -O1 -ffp-contract=off -shared -fPIC -o".split(), library, "-"]
            done = subprocess.run(command, input=unit.text, capture_output=True, text=True)
            if done.returncode:
                raise KernelCompileFailed("first", done.stderr, source=unit.text)
            return ctypes.CDLL(library)
    def allocate(self, size):
        return ctypes.create_string_buffer(size)
    def fill(self, memory, byte, size):
        ctypes.memset(memory, byte, size)
    def copy_in(self, memory, data, offset=0):
        ctypes.memmove(ctypes.byref(memory, offset), data.tobytes(), data.nbytes)
    def copy_out(self, memory, into, offset=0):
        into[:] = memory[offset : offset + into.nbytes]
    def launch(self, module, kernel, grid, workgroup_size, args, *, timed=False, longest=0.0):
        group, groups = ((ctypes.c_uint32 * 3).in_dll(module, name) for name in ("group", "groups"))
        groups[:] = grid
        values = [ctypes.c_uint32(arg) if isinstance(arg, int) else arg for arg in args]
        for group[2], group[1], group[0] in product(*(range(n) for n in reversed(grid))):
            module[kernel](*values)
    def free(self, memory): ...
    def close(self): ...
    def wait(self, event, timeout=None): return True
    def finish(self, timeout=None): return True
    def query(self, event): return True
    def elapsed(self, event): return None

registration = BackendRegistration(id="first", precedence=850, contract=1, probe=Availability.available,
                                   factory=lambda: EngineBackend("first", FirstPort))
