"""What a fresh process pays: imports, the list of backends, the device, the first dispatch.

Every sample is a process of its own. `open` is the time from the end of the imports until the peer has its device, for
those that have one: a context and a queue, or what was proven of it. `first` goes from there to the first result in
NumPy, with everything that this needs: the program, compiling it, memory; `second` is the same call again. An empty
cache is an empty folder for every disk cache that a peer has, a warm one was filled by a process before.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from harness import Case, NotHere, Peer, Scale, Trial
from records import Record
from report import Table, per, pivot, with_best

TITLE = "Start"
CALLS = 1
PEERS = {
    "vyre": Peer(modules=("vyre", "vyre_driver_opencl")),
    "vyre, CPU": Peer(modules=("vyre", "vyre_driver_cpu")),
    "vyre, reference": Peer(modules=("vyre", "vyre_reference")),
    "PyOpenCL": Peer(modules=("vyre_driver_opencl", "pyopencl")),
    "Numba": Peer(modules=("numba",)),
    "JAX": Peer(modules=("jax",), environment={"JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}),
    "Warp": Peer(modules=("warp",)),
    "Taichi": Peer(modules=("taichi",)),
}
IMPORTS = ("numpy", "vyre_foundation", "vyre_driver", "vyre_reference", "vyre_driver_cpu", "vyre_driver_opencl", "vyre")
CACHES = (
    "POCL_CACHE_DIR",
    "XDG_CACHE_HOME",
    "TI_OFFLINE_CACHE_FILE_PATH",
    "WARP_CACHE_PATH",
    "JAX_COMPILATION_CACHE_DIR",
)
DEVICE_LIBRARIES = ("cuda", "cupy", "jax", "pocl", "pyopencl", "torch", "wgpu")

STAGES = ("open", "first", "second", "process")

START = """
import json, sys, time
import numpy as np
x = np.arange(1024, dtype=np.uint32)
began = time.perf_counter()
"""
# What each peer imports, and a function `go` that gives the result.
DISPATCH = {
    "vyre": """
import vyre as vy
imported = time.perf_counter()
vy.backend_for("opencl").device_profile()
opened = time.perf_counter()
with vy.program("xor", 64) as p:
    a = p.read("x", vy.u32)
    out = p.write("out", vy.u32, like=a)
    out[p.global_id(0)] = a[p.global_id(0)] ^ 5
program = p.build()
go = lambda: vy.run(program, x=x, backend="opencl")["out"]
""",
    "PyOpenCL": '''
import pyopencl as cl
imported = time.perf_counter()
(platform,) = [platform for platform in cl.get_platforms() if "PoCL" in platform.version]
device = next(device for device in platform.get_devices() if device.name.startswith("pthread"))
context = cl.Context([device])
queue = cl.CommandQueue(context)
opened = time.perf_counter()
source = """__kernel void xor_words(__global const uint *x, __global uint *out) {
    out[get_global_id(0)] = x[get_global_id(0)] ^ 5u;
}"""
kernel = cl.Kernel(cl.Program(context, source).build(), "xor_words")
def go():
    given = cl.Buffer(context, cl.mem_flags.COPY_HOST_PTR, hostbuf=x)
    room, out = cl.Buffer(context, cl.mem_flags.READ_WRITE, x.nbytes), np.empty_like(x)
    kernel(queue, x.shape, (64,), given, room)
    cl.enqueue_copy(queue, out, room)
    return out
''',
    "Numba": """
import numba
imported = opened = time.perf_counter()
@numba.njit
def xor(x):
    out = np.empty_like(x)
    for i in range(x.size):
        out[i] = x[i] ^ np.uint32(5)
    return out
go = lambda: xor(x)
""",
    "JAX": """
import jax
imported = time.perf_counter()
jax.devices()
opened = time.perf_counter()
xor = jax.jit(lambda x: x ^ np.uint32(5))
go = lambda: np.asarray(xor(x))
""",
    "Warp": """
import warp as wp
imported = time.perf_counter()
wp.config.quiet = True
wp.init()
opened = time.perf_counter()
@wp.kernel
def xor(x: wp.array(dtype=wp.uint32), out: wp.array(dtype=wp.uint32)):
    i = wp.tid()
    out[i] = x[i] ^ wp.uint32(5)
def go():
    out = wp.empty(x.size, dtype=wp.uint32, device="cpu")
    wp.launch(xor, x.size, [wp.array(x, dtype=wp.uint32, device="cpu")], [out], device="cpu")
    return out.numpy()
""",
    "Taichi": """
import taichi as ti
imported = time.perf_counter()
ti.init(arch=ti.cpu, log_level=ti.ERROR)
opened = time.perf_counter()
words = ti.types.ndarray(dtype=ti.u32, ndim=1)
@ti.kernel
def xor(x: words, out: words):
    for i in x:
        out[i] = x[i] ^ ti.u32(5)
def go():
    out = np.empty_like(x)
    xor(x, out)
    ti.sync()
    return out
""",
}
DISPATCH["vyre, CPU"] = DISPATCH["vyre"].replace('"opencl"', '"cpu"')
DISPATCH["vyre, reference"] = DISPATCH["vyre"].replace('"opencl"', '"reference"')
END = """
ready = time.perf_counter()
result = go()
first = time.perf_counter()
go()
second = time.perf_counter()
assert np.array_equal(result, x ^ np.uint32(5))
times = {"import": imported - began, "open": opened - imported, "first": first - opened, "second": second - first}
print(json.dumps({**times, "modules": len(sys.modules)}))
"""
IMPORT = """
import json, sys, time
{before}
began = time.perf_counter()
import {module}
print(json.dumps({{"import": time.perf_counter() - began, "modules": len(sys.modules)}}))
"""
LIST = """
import json, sys, time
import numpy, vyre_driver
before, began = set(sys.modules), time.perf_counter()
backends = vyre_driver.registered_backends()
times = {"list": time.perf_counter() - began, "modules": len(set(sys.modules) - before)}
print(json.dumps({**times, "names": sorted({name.partition(".")[0] for name in sys.modules})}))
"""


def cases(scale: Scale) -> list[Case]:
    names = ["import", "list backends", "empty cache", "warm cache"]
    return [Case(name, 0) for name in (names if scale is Scale.FULL else names[1:])]


def takes_part(peer: str, case: Case) -> bool:
    return peer == "vyre" or case.name.endswith("cache")


def prepare(peer: str, case: Case) -> dict[str, Trial]:
    match case.name:
        case "import":
            return {f"`import {module}`": _import(module) for module in IMPORTS} | {"`python`": _nothing()}
        case "list backends":
            return _list()
        case _:
            return _dispatch(peer, is_warm=case.name == "warm cache")


def child(script: str, cache: str | None = None) -> dict[str, object]:
    """What a process with this script says, and the seconds that all of it took."""
    environment = dict(os.environ)
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # installed packages have their bytecode
    if cache is not None:
        environment |= {name: str(Path(cache) / name.lower()) for name in CACHES}
    with tempfile.TemporaryDirectory(prefix="bench-script-") as folder:
        file = Path(folder) / "script.py"  # some peers read the source of their kernels
        file.write_text(script, "utf-8")
        started = time.perf_counter()
        done = subprocess.run([sys.executable, file], capture_output=True, text=True, env=environment, check=False)
        took = time.perf_counter() - started
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        missing = last.startswith("ModuleNotFoundError")
        raise NotHere(f"not installed ({last.rpartition(' ')[2]})" if missing else last)
    said = json.loads(done.stdout.splitlines()[-1]) if done.stdout else {}
    return {"process": took, **said}


def _import(module: str) -> Trial:
    script = IMPORT.format(before="" if module == "numpy" else "import numpy", module=module)
    return Trial(
        run=lambda: child(script)["import"], facts={"note": f"{child(script)['modules']} modules are loaded then"}
    )


def _nothing() -> Trial:
    return Trial(run=lambda: child("")["process"])


def _list() -> dict[str, Trial]:
    said = child(LIST)
    names = said["names"]
    assert isinstance(names, list)
    libraries = [name for name in DEVICE_LIBRARIES if name in names]
    note = f"loads {said['modules']} modules; of device libraries {', '.join(libraries) or 'none'}"
    return {"`registered_backends()`": Trial(run=lambda: child(LIST)["list"], facts={"note": note})}


def _dispatch(peer: str, *, is_warm: bool) -> dict[str, Trial]:
    """One process gives five figures: the first trial of a turn starts it, the others read what it said."""
    script = "".join((START, DISPATCH[peer], END))
    warm = tempfile.TemporaryDirectory(prefix="bench-cache-")
    if is_warm:
        child(script, warm.name)
    latest: dict[str, object] = {}

    def start() -> object:
        with tempfile.TemporaryDirectory(prefix="bench-cache-") as empty:
            latest.clear()
            latest.update(child(script, warm.name if is_warm else empty))
        return latest.pop("import")

    def said(name: str) -> Callable[[], object]:
        return lambda _keep=warm: latest.pop(name)

    return {"import": Trial(run=start), **{name: Trial(run=said(name)) for name in STAGES}}


def tables(records: Sequence[Record]) -> list[Table]:
    single = [row for row in records if not row["case"].endswith("cache")]
    whole = [row for row in records if row["case"].endswith("cache")]
    show = with_best(partial(per, scale=1e3))
    imports = pivot(single, rows=("variant",), columns=("case",), show=show)
    imports.columns = ["ms", "note"]
    for row in single:
        if (cells := imports.rows.get((row["variant"],))) is not None:
            cells |= {"ms": show(row), "note": row.get("note", "")}
    return [
        imports.titled(
            "ms in a fresh process, median (best); imports are beyond NumPy, which is loaded before, except its own"
        ),
        pivot(whole, rows=("case", "peer"), columns=("variant",), show=show).titled(
            "ms, median (best), an xor of 1 Ki words"
        ),
    ]
