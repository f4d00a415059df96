"""PyOpenCL's extension is one module for the whole process, whoever is first, and all of PyOpenCL works with it."""

import subprocess
import sys

import pytest

OURS = """
from vyre_driver_opencl.backend import OpenClBackend
from vyre_driver_opencl.api import cl as ours
backend = OpenClBackend("opencl")
backend.prepare()
"""
THEIRS = """
import numpy as np, pyopencl
from pyopencl import array
context = pyopencl.Context(pyopencl.get_platforms()[0].get_devices()[:1])
queue = pyopencl.CommandQueue(context)
kernel = pyopencl.Program(context, "__kernel void f(__global int *x) { x[get_global_id(0)] += 3; }").build().f
x = array.to_device(queue, np.arange(9, dtype=np.int32))
kernel(queue, (9,), None, x.data)
assert x.get().tolist() == list(range(3, 12)), x
assert "OpenCL" in context.devices[0].platform.version
"""
ONE = """
import sys
assert ours is pyopencl._cl is sys.modules["pyopencl._cl"]
assert ours.Buffer is pyopencl.Buffer
"""
USED = """
from vyre_foundation import program, u32
with program("xor", workgroup_size=64) as p:
    x = p.read("x", u32)
    out = p.write("out", u32, like=x)
    out[p.global_id(0)] = x[p.global_id(0)] ^ 5
x = np.arange(99, dtype=np.uint32)
assert bytes(backend.dispatch(p.build(), [x])[0]) == (x ^ 5).tobytes()
backend.shutdown()
"""


@pytest.mark.parametrize("before", ["", "import pyopencl; pyopencl.get_platforms()[0].get_devices()"])
def test_both_use_one_extension(before: str) -> None:
    """The device is opened first, because PoCL's compiler may not know the CPU until then."""
    run("".join((before, OURS, THEIRS, ONE, USED)))


def test_pyopencl_is_imported_when_it_is_asked_for_something() -> None:
    run("""
import sys
from vyre_driver_opencl.api import cl as ours
import pyopencl
assert pyopencl.__file__.endswith("__init__.py") and "pytools" not in sys.modules
early = pyopencl
import pyopencl.version
assert "pytools" not in sys.modules
assert pyopencl.Buffer is ours.Buffer
assert "pytools" in sys.modules
import pyopencl
assert early is not pyopencl and early.Program is pyopencl.Program
try:
    pyopencl.nothing
except AttributeError:
    pass
""")


def test_kernels_can_be_made_before_and_after() -> None:
    run(
        OURS
        + """
from vyre_driver_opencl.api import new_kernel
from vyre_driver_opencl.compiler import build
from vyre_driver_opencl.opened import open_device
opened = open_device("opencl")
program = build(opened.context, opened.device, "__kernel void f(int x) {}")
before = new_kernel(program, "f")
import pyopencl, numpy as np
queue = pyopencl.CommandQueue(opened.context, opened.device)
after = new_kernel(program, "f")
after(queue, (1,), None, np.int32(3)).wait()
for kernel in (before, after):
    kernel.set_arg(0, np.int32(3))
    pyopencl.enqueue_nd_range_kernel(queue, kernel, (1,), None).wait()
assert pyopencl.invoker.__file__
"""
    )


def test_without_pyopencl_it_is_not_found() -> None:
    """Nothing is left behind, so that an installation in the running process is found."""
    run("""
import importlib.util, sys
find, importlib.util.find_spec = importlib.util.find_spec, lambda name: None
try:
    import vyre_driver_opencl.api
except ModuleNotFoundError as error:
    assert error.name == "pyopencl", error
else:
    raise AssertionError("it was found")
importlib.util.find_spec = find
import vyre_driver_opencl.api
""")


def run(script: str) -> None:
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
