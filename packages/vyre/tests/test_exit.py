"""What runs while the interpreter exits: a handler of `atexit` that is the first to compile something."""

import os
import subprocess
import sys
from pathlib import Path

SCRIPT = """
import atexit, threading

import numpy as np

import vyre as vy

class NoThread(threading.Thread):
    def start(self):
        raise RuntimeError("can't create new thread at interpreter shutdown")  # Python 3.12 and newer

@vy.kernel
def tripled(x: vy.Array[vy.u32, "n"]) -> vy.Array[vy.u32, "n"]:
    i = vy.index()
    return x[i] * 3

def work():
    threading.Thread = NoThread
    x = np.arange(1 << 21, dtype=np.uint32)
    assert np.array_equal(tripled(x[:5]), 3 * x[:5])
    assert np.array_equal(tripled(x), 3 * x)
    with vy.graph("tripled") as g:
        g.output("y", tripled(g.input("x", vy.u32, 5)))
    compiled = g.compile()
    assert compiled.run(x=x[:5])["y"].tolist() == [0, 3, 6, 9, 12]
    assert compiled.launch(x=x[5:10]).result(60)["y"].tolist() == [15, 18, 21, 24, 27]
    print("done", flush=True)

atexit.register(work)
"""


def test_a_kernel_is_compiled_while_the_interpreter_exits(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT, "utf-8")
    environment = os.environ | {"VYRE_CACHE": "off", "VYRE_CPU_THREADS": "2"}
    done = subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")
