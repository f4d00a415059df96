import os
import sys

import pyopencl as cl
import pytest

from vyre_driver_opencl.compiler import BuildFailed, _standard_error_into, build
from vyre_driver_opencl.opened import open_device


@pytest.fixture(scope="module")
def context(backend_id: str) -> cl.Context:
    return open_device(backend_id).context


def test_a_refusal_has_the_log_and_the_lines(context: cl.Context) -> None:
    text = "__kernel void k(__global int *a) {\n  a[0] = 1;\n  a[1] = missing;\n}\n"
    with pytest.raises(BuildFailed) as caught:
        build(context, context.devices[0], text)
    assert "use of undeclared identifier 'missing'" in caught.value.log
    assert caught.value.lines[0] == 3


def test_a_refusal_without_a_line() -> None:
    assert BuildFailed("out of registers").lines == ()


def test_logs_name_no_temporary_file(context: cl.Context) -> None:
    with pytest.raises(BuildFailed) as caught:
        build(context, context.devices[0], "#error no\n")
    assert "tempfile_" not in caught.value.log


def test_what_libraries_write_to_standard_error_is_caught(capfd: pytest.CaptureFixture[str]) -> None:
    said: list[str] = []
    with _standard_error_into(said):
        os.write(2, b"from below\n")
    sys.stderr.write("from above\n")
    assert said == ["from below\n"]
    assert capfd.readouterr().err == "from above\n"


def test_options_reach_the_compiler(context: cl.Context) -> None:
    text = "__kernel void k(__global int *a) { a[0] = ANSWER; }"
    assert build(context, context.devices[0], text, ("-DANSWER=42",)).get_info(cl.program_info.KERNEL_NAMES) == "k"
    with pytest.raises(BuildFailed, match="ANSWER"):
        build(context, context.devices[0], text)
