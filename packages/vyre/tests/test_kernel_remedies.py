"""Remedies are true: each mistake is refused with what to write, and what is written so compiles and computes."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vyre as vy

HEAD = """
import math
import random
import time
import numpy as np
import vyre as vy

TABLE = np.float32([1, 2, 3])
NUMBER = 0.5
FLAG = None

def plain(v):
    return v + v

@vy.func
def twice(v):
    return v + v

@vy.func
def is_large(v):
    return v > 2

@vy.struct
class Ball(vy.Struct):
    place: vy.f32
    speed: vy.f32

@vy.kernel{options}
def k(x: vy.Array[vy.{dtype}, "n"]) -> vy.Array[vy.{dtype}, "n"]:
    i = vy.index()
"""
ATOMICS = (
    "use one of atomic_add, atomic_and, atomic_or, atomic_xor, atomic_min, atomic_max, atomic_exchange,"
    " atomic_compare_exchange"
)
RANDOM = "pass what it gives as an argument; vy.uniform(key, n) makes an array of random numbers"
SEVERAL = "return one value, or annotate several arrays, as in -> tuple[vy.Array[…], vy.Array[…]]"
ROWS: list[tuple[str, str, str, str, list[float]]] = [
    # the type of the elements, the mistake, the remedy, what is written then, and what it gives for 1, 2, 3
    ("f32", "return x[-1]", "indices do not count from the end: use len(x) - 1", "return x[len(x) - 1]", [3, 3, 3]),
    ("u8", "return vy.u8(x[i] == '\\x02')", "write its code, as in ord('\\x02')", "return vy.u8(x[i] == ord('\\x02'))",
     [0, 1, 0]),
    ("u8", "return vy.u8(x[i] == b'\\x02')", "write its code, as in ord(b'\\x02')",
     "return vy.u8(x[i] == ord(b'\\x02'))", [0, 1, 0]),
    ("u8", "return 'abcd'[x[i]]", "index bytes, as in text.encode()[i], or an array of NumPy from outside",
     "return 'abcd'.encode()[x[i]]", [98, 99, 100]),
    ("f32", "return min(x[k] for k in (0, 1, 2))", "write vy.min, which gives the other operand for a NaN",
     "return vy.min(x[k] for k in (0, 1, 2))", [1, 1, 1]),
    ("f32", "return vy.max(vy.vec(x[0], x[1]))", "pass v.x and v.y", "v = vy.vec(x[0], x[1]); return vy.max(v.x, v.y)",
     [2, 2, 2]),
    ("f32", "v = vy.vec(x[i], 2.5); return vy.f32(vy.u8(v).y)", "write v.cast(vy.u8)",
     "v = vy.vec(x[i], 2.5); return vy.f32(v.cast(vy.u8).y)", [2, 2, 2]),
    ("f32", "return vy.sqrt(vy.vec(4.0, 9.0)).x", "give one of them a type, as in vy.f32(4.0)",
     "return vy.sqrt(vy.vec(vy.f32(4.0), 9.0)).x", [2, 2, 2]),
    ("f32", "v = vy.vec(1.0, 2)\nfor k in range(2): v = v * 2\nreturn v.y + x[i]",
     "give its numbers types, as in v = vy.vec(vy.f32(1.0), vy.f32(2))",
     "v = vy.vec(vy.f32(1.0), vy.f32(2))\nfor k in range(2): v = v * 2\nreturn v.y + x[i]", [9, 10, 11]),
    ("f32", "t = (1.0, 2.0)\nfor k in range(2): t = (t[1], t[0])\nreturn t[0]",
     "give its numbers types, as in t = (vy.f32(1.0), vy.f32(2.0))",
     "t = (vy.f32(1.0), vy.f32(2.0))\nfor k in range(2): t = (t[1], t[0])\nreturn t[0]", [1, 1, 1]),
    ("u32", "return vy.max(i - 2, 0, 0)",
     "convert before the subtraction, as in vy.i32(x) - 1, or write it without, as in vy.max(x, 1) - 1",
     "return vy.max(i, 2) - 2", [0, 0, 0]),
    ("f32", "return x[-2]", "indices do not count from the end: use len(x) - 2", "return x[len(x) - 2]", [2, 2, 2]),
    ("u32", "return x[(i - 1) % len(x)]", "add the divisor before, as in (i + len(x) - 1) % len(x)",
     "return x[(i + len(x) - 1) % len(x)]", [3, 1, 2]),
    ("u32", "return sum(x[(i + by) % len(x)] for by in (-1, 1))",
     "add the divisor before, as in (i + len(x) - 1) % len(x)",
     "return sum(x[(i + len(x) + by) % len(x)] for by in (-1, 1))", [5, 4, 3]),
    ("u32", "total = vy.u32(0)\nfor k in range(i + 1):\n    total += x[(k - 2) % 3]\nreturn total",
     "add the divisor before, as in (k + 3 - 2) % 3",
     "total = vy.u32(0)\nfor k in range(i + 1):\n    total += x[(k + 3 - 2) % 3]\nreturn total", [2, 5, 6]),
    ("u32", "return (i - 5) % 3", "add the divisor before, as in (i + 3 - 2) % 3", "return (i + 3 - 2) % 3", [1, 2, 0]),
    ("u32", "return (i - 5) % x[i]", "add the divisor before, as in (i + x[i] - 5 % x[i]) % x[i]",
     "return (i + x[i] - 5 % x[i]) % x[i]", [0, 0, 0]),
    ("u32", "return x + 1", "index it, as in x[i]", "return x[i] + 1", [2, 3, 4]),
    ("u32", "i = 2\nreturn vy.max(x, i)", "index it, as in x[vy.index()]", "i = 2\nreturn vy.max(x[vy.index()], i)",
     [2, 2, 3]),
    ("u32", "return -(-x[i] // 2)", "write vy.ceil_div(x[i], 2), which rounds up, for -(-x[i] // 2)",
     "return vy.ceil_div(x[i], 2)", [1, 1, 2]),
    ("u32", "return -x[i] % 3", "write (3 - x[i] % 3) % 3", "return (3 - x[i] % 3) % 3", [2, 1, 0]),
    ("u8", "return vy.u8(1 << x[i])",
     "give the number its type, as in vy.u32(1) << vy.u32(x[i]), or in vy.u8(1) << x[i]",
     "return vy.u8(vy.u32(1) << vy.u32(x[i]))", [2, 4, 8]),
    ("u8", "return vy.u8((1 << x[i] + 1) - 1)",
     "give the number its type, as in vy.u32(1) << vy.u32(x[i]) + 1, or in vy.u8(1) << x[i] + 1",
     "return (vy.u8(1) << x[i] + 1) - 1", [3, 7, 15]),
    ("u32", "return vy.u32((1 << (x[i] + 32 & 63)) >> 32)",
     "give the number its type, as in vy.u64(1) << (vy.u64(x[i]) + 32 & 63), or in vy.u32(1) << (x[i] + 32 & 63)",
     "return vy.u32((vy.u64(1) << vy.u64(x[i] + 32 & 63)) >> 32)", [2, 4, 8]),
    ("u32", "return 2 ** x[i]", "write a shift, as in vy.u32(1) << x[i]", "return vy.u32(1) << x[i]", [2, 4, 8]),
    ("f32", "return x[i] ^ 2", "write `**` for a power; bits of a float are those of x.bitcast(vy.u32)",
     "return x[i] ** 2", [1, 4, 9]),
    ("f32", "return ~x[i]", "write `not` for a truth value, or -x; x.bitcast(vy.u32) has the bits of a float",
     "return -x[i]", [-1, -2, -3]),
    ("f32", "return x[i].astype(vy.f32)", "write x[i].cast(…)", "return x[i].cast(vy.f32)", [1, 2, 3]),
    ("f32", "return x[i].sqrt()", "write vy.sqrt(x[i])", "return vy.sqrt(x[i]) * 0.0", [0, 0, 0]),
    ("f32", "return math.floor(x[i])", "write vy.floor", "return vy.floor(x[i])", [1, 2, 3]),
    ("f32", "return round(x[i])", "write vy.round", "return vy.round(x[i])", [1, 2, 3]),
    ("f32", "return np.float32(x[i])", "write vy.f32(…)", "return vy.f32(x[i])", [1, 2, 3]),
    ("f32", "return vy.float32(x[i])", "use vy.f32", "return vy.f32(x[i])", [1, 2, 3]),
    ("f32", "return math.fmod(x[i], 2.0)", "write x - vy.trunc(x / y) * y",
     "return x[i] - vy.trunc(x[i] / 2.0) * 2.0", [1, 0, 1]),
    ("f32", "return x[i] + len(f'{x[i]}')",
     'leave it out; to look at it, add a result, as in seen: vy.Out[vy.f32, "n"]: seen[i] = value',
     "return x[i]", [1, 2, 3]),
    ("f32", "return float(x[i])", "write vy.f32(x) or another type", "return vy.f32(x[i])", [1, 2, 3]),
    ("f32", "return x[i].cast(float)", "use vy.f32 or vy.f64", "return x[i].cast(vy.f32)", [1, 2, 3]),
    ("f32", "t = vy.private(float, 3)\nreturn x[i] + t[0]", "use vy.f32 or vy.f64",
     "t = vy.private(vy.f32, 3)\nreturn x[i] + t[0]", [1, 2, 3]),
    ("f32", "return max(x[i], 2)", "write vy.max, which gives the other operand for a NaN", "return vy.max(x[i], 2)",
     [2, 2, 3]),
    ("f32", "return x[i] * (x[i] > 2)", "convert one of them, as in vy.f32(x[i] > 2)",
     "return x[i] * vy.f32(x[i] > 2)", [0, 0, 3]),
    ("f32", "return x[i] + i", "convert one of them, as in vy.f32(i)", "return x[i] + vy.f32(i)", [1, 3, 5]),
    ("f32", "return vy.min(x[i], i)", "convert the others with .cast(vy.f32)", "return vy.min(x[i], i.cast(vy.f32))",
     [0, 1, 2]),
    ("f32", "return plain(x[i])", "decorate plain with @vy.func", "return twice(x[i])", [2, 4, 6]),
    ("f32", "f = lambda v: v + v\nreturn f(x[i])",
     "make it a function with `def` outside of the kernel, and decorate that with @vy.func", "return twice(x[i])",
     [2, 4, 6]),
    ("f32", "return x[i] + twice", "call the function", "return x[i] + twice(x[i])", [3, 6, 9]),
    ("f32", "return x[i] + vy.f32", "give it a number, as in vy.f32(1)", "return x[i] + vy.f32(1)", [2, 3, 4]),
    ("f32", "return x[i] if is_large else 0.0", "call it, as in is_large(…), or test whether it is None",
     "return x[i] if is_large(x[i]) else 0.0", [0, 0, 3]),
    ("f32", "return x[i] if twice else 0.0", "call it, as in twice(…), or test whether it is None",
     "return x[i] if twice is not None else 0.0", [1, 2, 3]),
    ("f32", "assert (x[i] > 0, 'positive')\nreturn x[i]", "write the condition without parentheses and comma",
     "assert x[i] > 0, 'positive'\nreturn x[i]", [1, 2, 3]),
    ("f32", "if (x[i] > 2,):\n    return 0.0\nreturn x[i]", "write the condition without parentheses and comma",
     "if x[i] > 2:\n    return 0.0\nreturn x[i]", [1, 2, 0]),
    ("f32", "v = vy.vec(x[i], x[i])\nreturn x[i] if v else 0.0", "test a part of it, or write a comparison",
     "v = vy.vec(x[i], x[i])\nreturn x[i] if v.x > 2 else 0.0", [0, 0, 3]),
    ("f32", "b = Ball(x[i], x[i])\nreturn x[i] if b else 0.0", "test a part of it, or write a comparison",
     "b = Ball(x[i], x[i])\nreturn x[i] if b.place > 2 else 0.0", [0, 0, 3]),
    ("f32", "v = vy.vec(x[i], x[i])\nif v == v:\n    return 0.0\nreturn x[i]",
     "compute with its components, as in v.x",
     "v = vy.vec(x[i], x[i])\nif v.x == v.y:\n    return 0.0\nreturn x[i]", [0, 0, 0]),
    ("f32", "b = Ball(x[i], x[i])\nreturn b + 1.0",
     "define __add__ in the structure, or compute with its fields, as in s.place",
     "b = Ball(x[i], x[i])\nreturn b.place + 1.0", [2, 3, 4]),
    ("f32", "v = vy.vec(x[i], x[i])\nv[1] = 3.0\nreturn v.y", "assign to the component, as in v.y = …",
     "v = vy.vec(x[i], x[i])\nv.y = 3.0\nreturn v.y", [3, 3, 3]),
    ("f32", "return x[i], x[i]", SEVERAL, "return x[i]", [1, 2, 3]),
    ("f32", "return None", "write a value; barriers, stores and traps give none", "return 0.0", [0, 0, 0]),
    ("f32", "return x[i] * random.random()",
     RANDOM, "return x[i]", [1, 2, 3]),
    ("f32", "return x[i] * np.random.rand()",
     RANDOM, "return x[i]", [1, 2, 3]),
    ("f32", "return x[i] * time.perf_counter()",
     RANDOM, "return x[i]", [1, 2, 3]),
    ("f32", "return np.sum(x)",
     "write a loop over its elements; outside of a kernel, vy.sum computes with whole arrays",
     "total = vy.f32(0)\nfor k in range(len(x)):\n    total += x[k]\nreturn total", [6, 6, 6]),
    ("f32", "return x.max()",
     "write a loop over its elements; outside of a kernel, vy.max computes with whole arrays",
     "total = vy.f32(0)\nfor k in range(len(x)):\n    total = vy.max(total, x[k])\nreturn total", [3, 3, 3]),
    ("f32", "total = vy.f32(0)\nfor v in x:\n    total += v\nreturn total",
     "count with `for k in range(…)` and index the array",
     "total = vy.f32(0)\nfor k in range(len(x)):\n    total += x[k]\nreturn total", [6, 6, 6]),
    ("f32", "for w in (1.0, 2.0):\n    if x[i] > w:\n        break\nreturn vy.f32(w)",
     "give another name a value before the loop, and assign to it there, as in last = vy.f32(w)",
     "last = vy.f32(0)\nfor w in (1.0, 2.0):\n    last = vy.f32(w)\n    if x[i] > w:\n        break\nreturn last",
     [2, 1, 1]),
    ("f32", "w = 2\nwhile w > 0:\n    if x[i] > 2.0:\n        break\n    w -= 1\nreturn vy.f32(w)",
     "state a limit on its iterations, as in `while vy.bounded(…, 1000)`, a loop of the program",
     "w = vy.u32(2)\nwhile vy.bounded(w > 0, 1000):\n    if x[i] > 2.0:\n        break\n    w -= 1\nreturn vy.f32(w)",
     [0, 0, 2]),
    ("f32", "t = [1.0, 2.0, 3.0]\nreturn t[i]",
     "loop over a tuple, as in tuple(range(3)), or index an array: vy.private, or one of NumPy from outside",
     "return TABLE[i]", [1, 2, 3]),
    ("f32", "t = vy.zeros(3, vy.f32)\nt[i] = x[i]\nreturn t[0]",
     "write vy.private(vy.f32, 3), or vy.workgroup(…) for memory that a workgroup shares",
     "t = vy.private(vy.f32, 3)\nt[i] = x[i]\nreturn t[i]", [1, 2, 3]),
    ("f32", "t = [0.0, 0.0]\nt[i] = x[i]\nreturn t[0]", "use a private array, as in vy.private(vy.f32, 3)",
     "t = vy.private(vy.f32, 3)\nt[i] = x[i]\nreturn t[i]", [1, 2, 3]),
    ("f32", "if x[i] > 2:\n    y = x[i]\nreturn y", "give 'y' a value before the `if`",
     "y = 0.0\nif x[i] > 2:\n    y = x[i]\nreturn y", [0, 0, 3]),
    ("f32", "if x[i] > 2:\n    y = 1\nelse:\n    y = 2.5\nreturn y", "give them one, as in vy.f32(2.5)",
     "if x[i] > 2:\n    y = 1\nelse:\n    y = vy.f32(2.5)\nreturn y", [2.5, 2.5, 1]),
    ("f32", "total = 0.0\nfor k in range(3):\n    total += 1.0\nreturn total",
     "make it a variable of the program, with a type, as in total = vy.f32(0.0)",
     "total = vy.f32(0.0)\nfor k in range(3):\n    total += 1.0\nreturn total", [3, 3, 3]),
    ("f32", "y = x[i]\nwhile y > 1:\n    y -= 1\nreturn y",
     "state how often it runs at most, as in `while vy.bounded(y > 1, 1000):`",
     "y = x[i]\nwhile vy.bounded(y > 1, 1000):\n    y -= 1\nreturn y", [1, 1, 1]),
    ("f32", "y = x[i]\nwhile True:\n    y -= 1\n    if y < 1:\n        break\nreturn y",
     "state how often it runs at most, as in `while vy.bounded(True, 1000):`",
     "y = x[i]\nwhile vy.bounded(True, 1000):\n    y -= 1\n    if y < 1:\n        break\nreturn y", [0, 0, 0]),
    ("f32", "for k in vy.range(2):\n    pass\nreturn x[i]", "write range, which is Python's",
     "for k in range(2):\n    pass\nreturn x[i]", [1, 2, 3]),
    ("f32", "for k in range(x[i]):\n    pass\nreturn x[i]", "convert it with .cast(vy.u32)",
     "for k in range(x[i].cast(vy.u32)):\n    pass\nreturn x[i]", [1, 2, 3]),
    ("f32", "vy.trap('no')\nreturn x[i]", "write vy.trap(code, tag)", "if x[i] < 0:\n    vy.trap(1, 'no')\nreturn x[i]",
     [1, 2, 3]),
    ("f32", "vy.barrier(1)\nreturn x[i]", "write vy.barrier()", "vy.barrier()\nreturn x[i]", [1, 2, 3]),
    ("f32", "y: float = x[i]\nreturn y", "write its type, such as vy.u32", "y: vy.f32 = x[i]\nreturn y", [1, 2, 3]),
    ("f32", "return vy.exp(0)", "give one of them a type, as in vy.f32(0)", "return vy.exp(vy.f32(0))",
     [1, 1, 1]),
    ("f32", "return vy.sqrt(4) + x[i]", "give one of them a type, as in vy.f32(4)", "return vy.sqrt(vy.f32(4)) + x[i]",
     [3, 4, 5]),
    ("f32", "return x[i] // 2", "write vy.floor(x / y), where each operation is rounded", "return vy.floor(x[i] / 2)",
     [0, 1, 1]),
    ("i32", "return x[i] // 2",
     "write vy.div and vy.rem, which truncate, or vy.floor_div and vy.floor_mod; / is for floats, // and % unsigned",
     "return vy.floor_div(x[i], 2)", [0, 1, 1]),
    ("u32", "return x[i] / 2",
     "write x[i] // 2 for a whole number, or convert to a type of floats, as in vy.f32(x[i]) / 2", "return x[i] // 2",
     [0, 1, 1]),
    ("u32", "return x[i] // 0", "divide by another number", "return x[i] // 2", [0, 1, 1]),
    ("u32", "return x[i] % 0", "divide by another number", "return x[i] % 2", [1, 0, 1]),
    ("u32", "return x[i] << 32", "shift by 0 … 31, or convert to a wider type", "return x[i] << 31", [2**31, 0, 2**31]),
    ("u32", "return x[i] >> 40", "shift by 0 … 31, or convert to a wider type",
     "return (x[i].cast(vy.u64) >> 40).cast(vy.u32)", [0, 0, 0]),
    ("u32", "return 5 if x[i] == 1 or 2 else 0", "write the comparison again, as in x[i] == 2",
     "return 5 if x[i] == 1 or x[i] == 2 else 0", [5, 5, 0]),
    ("u32", "return 5 if x[i] > 1 and 5 else 0", "write the comparison again, as in x[i] > 5",
     "return 5 if x[i] > 1 and x[i] > 5 else 0", [0, 0, 0]),
    ("u32", "return 5 if x[i] > 1 & x[i] < 3 else 0", "write `and` for the operator, or parentheses, as in (1 & x[i])",
     "return 5 if x[i] > 1 and x[i] < 3 else 0", [0, 5, 0]),
    ("u32", "return 5 if 0 < x[i] & 1 < 2 else 0", "write `and` for the operator, or parentheses, as in (x[i] & 1)",
     "return 5 if 0 < (x[i] & 1) < 2 else 0", [5, 0, 5]),
    ("u32", "return 5 if x[i] == 1 | x[i] == 2 else 0", "write `or` for the operator, or parentheses, as in (1 | x[i])",
     "return 5 if x[i] == 1 or x[i] == 2 else 0", [5, 5, 0]),
    ("u32", "return x[i] + True", "write 1", "return x[i] + 1", [2, 3, 4]),
    ("u32", "return 300000000000 + x[i]", "use 0 … 4294967295, or another type", "return 4294967295 + x[i]", [0, 1, 2]),
    ("u32", "return 5 if x[i] - 2 < 0 else 0",
     "compare before the subtraction, as in x > 0, or convert the operands with .cast(vy.i32)",
     "return 5 if x[i] < 2 else 0", [5, 0, 0]),
    ("u32", "return x[i] ** i", "write the product as a loop",
     "product = vy.u32(1)\nfor k in range(i):\n    product *= x[i]\nreturn product", [1, 2, 9]),
    ("u32", "return vy.sqrt(x[i]).cast(vy.u32)", "convert the operand first, as in vy.f32(x)",
     "return vy.sqrt(x[i].cast(vy.f32)).cast(vy.u32)", [1, 1, 1]),
    ("u32", "a, b = i\nreturn x[a]", "write a = vy.index(), or state more axes, as in shape=('h', 'w')",
     "a = vy.index()\nreturn x[a]", [1, 2, 3]),
    ("u32", "return x[vy.index(len(x))]",
     "write vy.index(), and state the shape of the launch in the decorator, as in @vy.kernel(shape=('h', 'w'))",
     "return x[vy.index()]", [1, 2, 3]),
    ("u32", "x = 3\ndel x\nreturn 3", "write it without", "return 3", [3, 3, 3]),
    ("u32", "raise ValueError('no')", "write vy.trap(code, text), or `assert condition, text`",
     "assert x[i] > 0, 'no'\nreturn x[i]", [1, 2, 3]),
    ("u32", "for k in range(0, 9, x[i]):\n    pass\nreturn x[i]",
     "count with a step of 1, and compute the index in the loop",
     "for k in range(0, 9):\n    pass\nreturn x[i]", [1, 2, 3]),
    ("f32", "ball = Ball(x[i], 2.0)\nball.place_ = 1.0\nreturn ball.place", "use one of place, speed",
     "ball = Ball(x[i], 2.0)\nball.place = 1.0\nreturn ball.place", [1, 1, 1]),
    ("f32", "v = vy.vec(x[i], 2.0)\nv.z = 1.0\nreturn v.x", "use one of x, y",
     "v = vy.vec(x[i], 2.0)\nv.x = 1.0\nreturn v.x", [1, 1, 1]),
    ("f32", "ball = Ball(x[i], 2.0)\nreturn ball['place']", "write ball.place",
     "ball = Ball(x[i], 2.0)\nreturn ball.place", [1, 2, 3]),
    ("f32", "ball = Ball(x[i], 2.0)\nreturn ball[0]", "name a field, as in ball.place",
     "ball = Ball(x[i], 2.0)\nreturn ball.place", [1, 2, 3]),
    ("f32", "return vy.dot(vy.vec(x[i], 2.0), x[i])", "make vectors with vy.vec(…), or multiply by the number",
     "return (vy.vec(x[i], 2.0) * x[i]).x", [1, 4, 9]),
    ("f32", "return vy.length(Ball(x[i], 2.0))", "make vectors with vy.vec(…)",
     "ball = Ball(x[i], 2.0)\nreturn vy.length(vy.vec(ball.place, 0.0))", [1, 2, 3]),
    ("f32", "return vy.Vec2(x[i], 2.0).x", "write vy.vec(…)", "return vy.vec(x[i], 2.0).x", [1, 2, 3]),
    ("u32", "own = vy.workgroup(vy.u32, 4)\nown[i].atomic_add(x[i])\nreturn x[i]", "write own.atomic_add(i, …)",
     "own = vy.workgroup(vy.u32, 4)\nown.atomic_add(i, x[i])\nreturn x[i]", [1, 2, 3]),
    ("u32", "own = vy.workgroup(vy.u32, 4)\nown.atomic_cas(i, 0, x[i])\nreturn x[i]",
     ATOMICS,
     "own = vy.workgroup(vy.u32, 4)\nown.atomic_compare_exchange(i, 0, x[i])\nreturn x[i]", [1, 2, 3]),
]  # fmt: skip


def made(tmp_path: Path, dtype: str, body: str) -> Any:
    """The kernel with a body."""
    file = tmp_path / "student.py"
    lines = "".join(f"    {line}\n" for line in body.split("\n"))
    file.write_text(HEAD.format(dtype=dtype, options="") + lines, "utf-8")
    scope: dict[str, Any] = {"__name__": "student"}
    exec(compile(file.read_text("utf-8"), str(file), "exec"), scope)
    return scope["k"]


@pytest.mark.filterwarnings("ignore:assertion is always true")
@pytest.mark.parametrize(("dtype", "mistake", "fix", "written", "expected"), ROWS, ids=[row[1] for row in ROWS])
def test_a_remedy_that_is_written_computes(dtype, mistake, fix, written, expected, tmp_path):
    with pytest.raises(vy.KernelError) as error:
        made(tmp_path, dtype, mistake).program
    assert error.value.fix == fix
    assert error.value.fields["line"].strip() in map(str.strip, mistake.split("\n"))
    x = np.array([1, 2, 3], getattr(vy, dtype).numpy)
    assert made(tmp_path, dtype, written)(x).tolist() == expected
