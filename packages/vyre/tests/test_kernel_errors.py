"""What kernels refuse: every message is compared whole, with its place and its remedy."""

import __future__

import ast
import asyncio
import dataclasses
import enum
import importlib.util
import itertools
import math
import os
import py_compile
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vyre as vy


def message_of(function, **options) -> str:
    """The message of compiling a function as a kernel, without the name of this file and the number of the line."""
    with pytest.raises(vy.VyreError) as error:
        vy.kernel(**options)(function).program
    assert isinstance(error.value, vy.KernelError)
    return re.sub(r"^.*test_kernel_errors\.py:\d+:", "", str(error.value))


def case(expected: str, **options):
    def add(function):
        CASES.append(pytest.param(function, options, expected.strip("\n"), id=function.__name__))
        return function

    return add


CASES: list = []
WEIGHTS = (0.5, 2.0)


@case("""
12: got a value of u8, expected f32
    return x[vy.index()]
           ^^^^^^^^^^^^^
Fix: convert it with .cast(vy.f32)
""")
def other_type(x: vy.Array[vy.u8, "n"]) -> vy.Array[vy.f32, "n"]:
    return x[vy.index()]


@case("""
12: got operands of u8 and f32, expected one type
    return x[i] + y[i]
           ^^^^^^^^^^^
Fix: convert one of them, as in vy.f32(x[i])
""")
def mixed_types(x: vy.Array[vy.u8, "n"], y: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
    i = vy.index()
    return x[i] + y[i]


@case("""
12: 300 is not a value of u8
    return x[vy.index()] + 300
           ^^^^^^^^^^^^^^^^^^^
Fix: use 0 … 255, or another type
""")
def literal_that_does_not_fit(x: vy.Array[vy.u8, "n"]) -> vy.Array[vy.u8, "n"]:
    return x[vy.index()] + 300


@case("""
12: Python's `/` means something else than the program's division of u8
    return x[vy.index()] / 2
           ^^^^^^^^^^^^^^^^^
Fix: write x[vy.index()] // 2 for a whole number, or convert to a type of floats, as in vy.f32(x[vy.index()]) / 2
""")
def division_of_integers(x: vy.Array[vy.u8, "n"]) -> vy.Array[vy.u8, "n"]:
    return x[vy.index()] / 2


@case("""
5: Python's `/` means something else than the program's division of i32
    a /= b + 1
    ^^^^^^^^^^
Fix: write vy.floor_div(a, b + 1) for a whole number, or convert to a type of floats, as in vy.f32(a) / (vy.f32(b) + 1)
""")
def division_of_signed_integers(x: vy.Array[vy.i32, "n"]) -> vy.Array[vy.i32, "n"]:
    a, b = x[vy.index()], x[0]
    a /= b + 1
    return a


@case("""
12: Python's `/` means something else than the program's division of u32
    return 1 / (x[i] + 1)
           ^^^^^^^^^^^^^^
Fix: write 1 // (x[i] + 1) for a whole number, or convert to a type of floats, as in 1 / (vy.f32(x[i]) + 1)
""")
def division_of_sums(x: vy.Array[vy.u32, "n"]) -> vy.Array[vy.u32, "n"]:
    i = vy.index()
    return 1 / (x[i] + 1)


@case("""
30: only a `for` statement can count to a number that is known only when the program runs
    return sum(x[k] for k in range(x.size))
                             ^^^^^^^^^^^^^
Fix: write a loop, as in total = vy.f32(0), and in the next lines for k in range(x.size): total += x[k]
""")
def sum_over_what_is_not_known(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
    return sum(x[k] for k in range(x.size))


@case("""
12: got the float 0.5 beside a value of u8
    return 0.5 * x[vy.index()]
           ^^^^^^^^^^^^^^^^^^^
Fix: write an integer, or convert the value, as in vy.f32(x[vy.index()])
""")
def float_beside_an_integer(x: vy.Array[vy.u8, "n"]) -> vy.Array[vy.u8, "n"]:
    return 0.5 * x[vy.index()]


@case("""
12: a number has no type here
    return vy.normalize(vy.vec(3.0, 4.0)).x
           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
Fix: give it one, as in vy.f32(25.0)
""")
def length_of_numbers(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
    return vy.normalize(vy.vec(3.0, 4.0)).x


@case("""
8: a value of u32 is never negative, so the comparison with 0 is constant
    if vy.index() - 1 >= 0:
       ^^^^^^^^^^^^^^^^^^^
Fix: compare before the subtraction, as in x > 0, or convert the operands with .cast(vy.i32)
""")
def comparison_of_a_wrapped_index(x: vy.Array[vy.u8, "n"]) -> vy.Array[vy.u8, "n"]:
    if vy.index() - 1 >= 0:
        return 1


@case("""
8: an unsigned difference wraps, so `> 0` asks only whether it is 0
    if x[vy.index()] - 5 > 0:
       ^^^^^^^^^^^^^^^^^^^^^
Fix: compare what is subtracted, as in x > y, or ask whether they differ, as in x != y
""")
def sign_of_a_difference(x: vy.Array[vy.u8, "n"]) -> vy.Array[vy.u8, "n"]:
    if x[vy.index()] - 5 > 0:
        return 1
    return 0


@case("""
17: an unsigned difference wraps, so `<= 0` asks only whether it is 0
    return 1 if 0 >= less else 0
                ^^^^^^^^^
Fix: compare what is subtracted, as in x <= y, or ask whether they differ, as in x != y
""")
def sign_of_a_difference_with_a_name(x: vy.Array[vy.u8, "n"]) -> vy.Array[vy.u8, "n"]:
    less = x[vy.index()] - x[0]
    return 1 if 0 >= less else 0


@case("""
11: a `while` loop has no limit, and every program ends
    while n > 1:
          ^^^^^
Fix: state how often it runs at most, as in `while vy.bounded(n > 1, 1000):`
""")
def loop_without_limit(x: vy.Array[vy.u32, "n"]) -> vy.Array[vy.u32, "n"]:
    n = x[vy.index()]
    while n > 1:
        n = n >> 1
    return n


@case("""
14: the unsigned difference that clamp gets is never negative: it wraps
    return x[vy.clamp(vy.index() - 1, 0, len(x) - 1)]
             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
Fix: convert before the subtraction, as in vy.i32(x) - 1, or write it without, as in vy.max(x, 1) - 1
""")
def clamped_difference(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
    return x[vy.clamp(vy.index() - 1, 0, len(x) - 1)]


@case("""
14: the unsigned difference that max gets is never negative: it wraps
    return x[max(0, vy.index() - 1)]
             ^^^^^^^^^^^^^^^^^^^^^^
Fix: convert before the subtraction, as in vy.i32(x) - 1, or write it without, as in vy.max(x, 1) - 1
""")
def greatest_of_a_difference(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
    return x[max(0, vy.index() - 1)]


@case("""
14: the unsigned difference that abs gets is never negative: it wraps
    return x[abs(vy.index() - 3)]
             ^^^^^^^^^^^^^^^^^^^
Fix: convert before the subtraction, as in vy.i32(x) - 1, or write it without, as in vy.max(x, 1) - 1
""")
def magnitude_of_a_difference(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
    return x[abs(vy.index() - 3)]


@case("""
8: a value of u32 is never negative, so the comparison with -1 is constant
    if parent[vy.index()] == -1:
       ^^^^^^^^^^^^^^^^^^^^^^^^
Fix: write what it wraps to, 0xffffffff, or convert the operands with .cast(vy.i32)
""")
def unsigned_sentinel(parent: vy.Array[vy.u32, "n"]) -> vy.Array[vy.u32, "n"]:
    if parent[vy.index()] == -1:
        return 0
    return 1


@case("""
9: an element of a Python object is changed
        found[0] = x[1]
        ^^^^^^^^
Fix: use a private array, as in vy.private(vy.f32, 3)
""")
def list_that_a_branch_changes(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
    found = [x[0]]
    if x[vy.index()] > 0:
        found[0] = x[1]
    return found[0]


@vy.func
def append(found, x):
    found.append(x)
    return x


@case("""
5: found.append(…) changes a Python object, whatever the condition of the program is
    found.append(x)
    ^^^^^^^^^^^^^^^
Fix: assign a new one, as in found = [*found, x]
""")
def list_that_a_function_changes_in_a_branch(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
    found = [x[0]]
    if x[vy.index()] > 0:
        append(found, x[1])
    return found[-1]


@case("""
5: 'out' is a result, and an assignment to the name stores nothing in it
    out = x[vy.index()] * 2
    ^^^
Fix: assign to an element, as in out[vy.index()] = x, or use another name
""")
def result_that_is_renamed(x: vy.Array[vy.f32, "n"], out: vy.Out[vy.f32, "n"]) -> None:
    out = x[vy.index()] * 2


@case("""
54: nothing is stored in the result 'out'
def result_without_a_store(x: vy.Array[vy.f32, "n"], out: vy.Out[vy.f32, "n"]) -> None:
                                                     ^^^^^^^^^^^^^^^^^^^^^^^^
Fix: store its elements, as in out[vy.index()] = x, or leave the parameter out
""")
def result_without_a_store(x: vy.Array[vy.f32, "n"], out: vy.Out[vy.f32, "n"]) -> None:
    x = x[vy.index()]


@case("""
9: 'count' is 0 before a loop, and line LINE changes it there
        count += 1
        ^^^^^
Fix: make it a variable of the program, with a type, as in count = vy.i32(0)
""")
def number_that_a_loop_changes(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
    count = 0
    for k in range(4):
        count += 1
    return x[count]


@case("""
14: 'place' is -1 before a loop, and line LINE changes it there
    return x[place]
             ^^^^^
Fix: make it a variable of the program, with a type, as in place = vy.i32(-1)
""")
def number_of_another_type(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
    place = -1
    for k in range(4):
        if x[k] > 0:
            place = k
    return x[place]


@case("""
12: 'low' is inf before a loop, and line LINE changes it there
    return low
           ^^^
Fix: make it a variable of the program, with a type, as in low = vy.f32(float("inf"))
""")
def float_that_a_loop_replaces(x: vy.Array[vy.u32, "n"]) -> vy.Array[vy.f32, "n"]:
    low = float("inf")
    for k in range(4):
        if x[k] > 0:
            low = 2.5
    return low


@case("""
18: got a value of the program as an index of a tuple
        total += WEIGHTS[k] * x[k]
                 ^^^^^^^^^^
Fix: loop over a tuple, as in tuple(range(3)), or index an array: vy.private, or one of NumPy from outside
""")
def tuple_indexed_by_a_counter(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
    total = vy.f32(0)
    for k in range(2):
        total += WEIGHTS[k] * x[k]
    return total


@case("""
12: got operands of u32 and i32, expected one type
    return vy.index() < x[0]
           ^^^^^^^^^^^^^^^^^
Fix: convert one of them, as in vy.i32(vy.index())
""")
def index_beside_a_signed_bound(x: vy.Array[vy.i32, "n"]) -> vy.Array[vy.bool_, "n"]:
    return vy.index() < x[0]


@case("""
12: got values of u32, i32, expected one type
    return vy.max(vy.index(), x[0])
           ^^^^^^^^^^^^^^^^^^^^^^^^
Fix: convert the others with .cast(vy.i32)
""")
def maximum_of_two_types(x: vy.Array[vy.i32, "n"]) -> vy.Array[vy.i32, "n"]:
    return vy.max(vy.index(), x[0])


@case("""
12: got operands of u32 and u8, expected one type
    return offset[i] + (length[i] * 4 + 1)
           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
Fix: convert one of them, as in vy.u32(length[i]) * 4 + 1
""")
def what_wraps_before_it_is_converted(
    offset: vy.Array[vy.u32, "n"], length: vy.Array[vy.u8, "n"]
) -> vy.Array[vy.u32, "n"]:
    i = vy.index()
    return offset[i] + (length[i] * 4 + 1)


@case("""
19: every comparison with NaN is constant
    return 0.0 if x[0] == math.nan else x[0]
                  ^^^^^^^^^^^^^^^^
Fix: write vy.is_nan(x)
""")
def comparison_with_nan(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
    return 0.0 if x[0] == math.nan else x[0]


@case("""
12: the unsigned difference that abs gets is never negative: it wraps
    return vy.abs(vy.index() - 3)
           ^^^^^^^^^^^^^^^^^^^^^^
Fix: convert before the subtraction, as in vy.i32(x) - 1, or write it without, as in vy.max(x, 1) - 1
""")
def magnitude_of_an_unsigned_difference(x: vy.Array[vy.u32, "n"]) -> vy.Array[vy.u32, "n"]:
    return vy.abs(vy.index() - 3)


@case("""
12: degrees(…) is a function of Python, which cannot compute with values of the program
    return math.degrees(x[0])
           ^^^^^^^^^^^^^^^^^^
Fix: write vy.degrees
""")
def degrees_of_python(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
    return math.degrees(x[0])


@case("""
12: Python's `//` means something else than the program's division of f32
    a, b = divmod(x[0], 3.0)
           ^^^^^^^^^^^^^^^^^
Fix: write vy.floor(x / y), where each operation is rounded
""")
def divmod_of_floats(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
    a, b = divmod(x[0], 3.0)
    return a + b


@case("""
12: got operands of f32 and u32, expected one type
    return x[0] / len(x)
           ^^^^^^^^^^^^^
Fix: convert one of them, as in vy.f32(len(x))
""")
def length_beside_a_float(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, 1]:
    return x[0] / len(x)


@case("""
12: 'y' may have no value here: line LINE gives it one only in one branch
    return y
           ^
Fix: give 'y' a value before the `if`
""")
def name_of_one_branch(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
    if x[vy.index()] > 0.0:
        y = x[0]
    return y


@case("""
12: 'y' may have no value here: the loop that gives it one at line LINE may not run
    return y
           ^
Fix: give 'y' a value before the loop, with a type, as in y = vy.f32(0)
""")
def name_of_a_loop(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
    for k in range(len(x)):
        y = x[k]
    return y


@case("""
12: 'last' is None before a loop, and line LINE changes it there
    return last
           ^^^^
Fix: give it a number before the loop, with a type, as in last = vy.f32(0)
""")
def nothing_that_a_loop_replaces(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
    last = None
    for k in range(len(x)):
        if x[k] > 0:
            last = x[k]
    return last


@case("""
12: 'k' has no value behind the loop that it counts, at line LINE
    return k
           ^
Fix: give another name a value before the loop, and assign to it there, as in last = k
""")
def counter_of_a_loop(x: vy.Array[vy.u32, "n"]) -> vy.Array[vy.u32, "n"]:
    k = vy.u32(7)
    for k in range(x[vy.index()]):
        pass
    return k


@case("""
5: 'y' has the types f32 and u32 in the branches of this `if`
    if i > 3:
    ^^^^^^^^^
Fix: convert them to one type
""")
def branches_of_two_types(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
    i = vy.index()
    if i > 3:
        y = x[i]
    else:
        y = i
    return y


@case("""
9: 'y' is a variable of f32, got DType
        y = vy.f32
        ^
Fix: use another name
""")
def variable_that_becomes_something_else(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
    y = x[0]
    if y > 0.0:
        y = vy.f32
    return y


@case("""
12: 'y' has no value here
    return y
           ^
Fix: give 'y' a value before
""")
def name_before_its_value(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
    return y
    y = 1


@case("""
12: the name 'undefined' is not defined
    return undefined
           ^^^^^^^^^
Fix: define it before the kernel is first called
""")
def unknown_name(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
    return undefined


@case("""
14: the name 'threadIdx' is not defined
    return x[threadIdx.x]
             ^^^^^^^^^
Fix: write vy.local_id(0); or define it before the kernel is first called
""")
def name_of_another_language(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
    return x[threadIdx.x]


@case("""
12: the name 'sqrt' is not defined
    return sqrt(x[vy.index()])
           ^^^^
Fix: write vy.sqrt; or define it before the kernel is first called
""")
def name_without_a_module(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
    return sqrt(x[vy.index()])


@case("""
12: got a tuple as an index of 'x', expected an integer
    return x[i, 0]
           ^^^^^^^
Fix: give each index a name, as in i, j = vy.index()
""")
def indices_as_one(x: vy.Array[vy.f32, "h", "w"]) -> vy.Array[vy.f32, "h", "w"]:
    i = vy.index()
    return x[i, 0]


@case("""
14: vy.zeros(…) makes an array of a device, while the kernel is compiled
    memory = vy.zeros(4)
             ^^^^^^^^^^^
Fix: write vy.private(vy.f32, 3), or vy.workgroup(…) for memory that a workgroup shares
""")
def array_without_a_type(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
    memory = vy.zeros(4)
    return memory[0]


@case("""
12: got 1 indices of 'x', which has 2 axes
    return x[0]
           ^^^^
Fix: pass an index for each axis, as in x[0, k]
""")
def missing_index(x: vy.Array[vy.f32, "h", "w"]) -> vy.Array[vy.f32, "h", "w"]:
    return x[0]


@case("""
12: got a slice of 'x'
    return x[0:2]
           ^^^^^^
Fix: load and store one element at a time
""")
def slices(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
    return x[0:2]


@case("""
12: the index -1 is out of bounds
    return x[-1]
           ^^^^^
Fix: indices do not count from the end: use len(x) - 1
""")
def index_from_the_end(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
    return x[-1]


@case("""
5: 'x' is an input, which cannot be written
    x[0] = 1.0
    ^^^^
Fix: annotate 'x' with vy.Out or vy.InOut
""")
def store_to_an_input(x: vy.Array[vy.f32, "n"], out: vy.Out[vy.f32, "n"]):
    x[0] = 1.0


@case("""
12: sqrt(…) is a function of Python, which cannot compute with values of the program
    return np.sqrt(x[0])
           ^^^^^^^^^^^^^
Fix: write vy.sqrt
""")
def function_of_numpy(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
    return np.sqrt(x[0])


@case("""
12: float32(…) is a function of Python, which cannot compute with values of the program
    return np.float32(x[0])
           ^^^^^^^^^^^^^^^^
Fix: write vy.f32(…)
""")
def type_of_numpy(x: vy.Array[vy.u32, "n"]) -> vy.Array[vy.f32, "n"]:
    return np.float32(x[0])


@case("""
12: got 3 arguments of pow, expected 2
    return pow(x[0], 3, 7)
           ^^^^^^^^^^^^^^^
Fix: write pow(x, y)
""")
def pow_of_three(x: vy.Array[vy.u32, "n"]) -> vy.Array[vy.u32, "n"]:
    return pow(x[0], 3, 7)


@case("""
12: clip(…) is a function of Python, which cannot compute with values of the program
    return np.clip(x[0], 0, 1)
           ^^^^^^^^^^^^^^^^^^^
Fix: write vy.clamp
""")
def function_with_another_name(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
    return np.clip(x[0], 0, 1)


@case("""
12: AttributeError while the kernel is compiled: module 'vyre' has no attribute 'where'
    return vy.where(x[0] > 0, x[0], 0)
           ^^^^^^^^
Fix: write vy.select
""")
def name_of_numpy(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
    return vy.where(x[0] > 0, x[0], 0)


@case("""
12: sum(…) computes with whole arrays, and runs kernels of its own
    return vy.sum(x)
           ^^^^^^^^^
Fix: call it outside of the kernel, and pass what it returns
""")
def algorithm(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
    return vy.sum(x)


@case("""
12: helper(…) is a function of Python, which cannot compute with values of the program
    return helper(x[0])
           ^^^^^^^^^^^^
Fix: decorate helper with @vy.func
""")
def function_of_python(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
    return helper(x[0])


def helper(x):
    return x


@case("""
12: the result of Python's min depends on the order of its operands for a NaN
    return min(x[0], x[1])
           ^^^^^^^^^^^^^^^
Fix: write vy.min, which gives the other operand for a NaN
""")
def minimum_of_floats(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
    return min(x[0], x[1])


@case("""
12: ZeroDivisionError while the kernel is compiled: division by zero
    return 1 / 0
           ^^^^^
Fix: correct the expression
""")
def error_of_python(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
    return 1 / 0


@case("""
5: got a function, which a kernel cannot have
    def twice(y: vy.f32) -> vy.f32:
    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
Fix: define it outside of the kernel, and decorate it with @vy.func
""")
def function_inside(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
    def twice(y: vy.f32) -> vy.f32:
        return y + y

    return twice(x[vy.index()])


@case("""
10: got operands of u32 and u8, expected one type
    h = (h ^ text[vy.index()]) * 16777619
         ^^^^^^^^^^^^^^^^^^^^
Fix: convert one of them, as in vy.u32(text[vy.index()])
""")
def hash_of_bytes(text: vy.Array[vy.u8, "n"]) -> vy.Array[vy.u32, "n"]:
    h = vy.u32(2166136261)
    h = (h ^ text[vy.index()]) * 16777619
    return h


@case("""
5: got `with`, which a kernel cannot have
    with open("x"):
    ^^^^^^^^^^^^^^^
Fix: write it without
""")
def statement_of_python(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
    with open("x"):
        return 1


@case("""
21: an atomic in an operand that is evaluated under a condition always takes effect
    if c[0] > 1 and c.atomic_add(0, 1) == 2:
                    ^^^^^^^^^^^^^^^^^^
Fix: write an `if` statement
""")
def effect_under_a_condition(c: vy.InOut[vy.u32, 4]):
    if c[0] > 1 and c.atomic_add(0, 1) == 2:
        c[1] = 1


@vy.func
def kept(array, i, value):
    array[i] = value
    return value > 9


@case("""
5: a store in an operand that is evaluated under a condition always takes effect
    array[i] = value
    ^^^^^^^^
Fix: write an `if` statement
""")
def store_to_an_own_element_under_a_condition(x: vy.Array[vy.i32, "n"], seen: vy.InOut[vy.i32, "n"]):
    if x[vy.index()] > 2 and kept(seen, vy.index(), x[vy.index()]):
        seen[vy.index()] = 1


@vy.func
def kept_in_memory_of_its_own(value):
    own = vy.private(vy.i32, 1)
    return value > 5 and kept(own, 0, value)


@case("""
5: a store in an operand that is evaluated under a condition always takes effect
    array[i] = value
    ^^^^^^^^
Fix: write an `if` statement
""")
def store_under_a_condition_in_a_condition(x: vy.Array[vy.i32, "n"]) -> vy.Array[vy.i32, "n"]:
    return 1 if x[vy.index()] > 2 and kept_in_memory_of_its_own(x[vy.index()]) else 0


@case("""
28: an atomic in an operand that is evaluated under a condition always takes effect
    if 0 < x[vy.index()] < seen.atomic_add(0, 1):
                           ^^^^^^^^^^^^^^^^^^^^^
Fix: write an `if` statement
""")
def effect_in_a_chained_comparison(x: vy.Array[vy.i32, "n"], seen: vy.InOut[vy.i32, "n"]):
    if 0 < x[vy.index()] < seen.atomic_add(0, 1):
        seen[vy.index()] = 1


@case("""
12: an atomic in a generator expression, which Python evaluates only as far as needed, always takes effect
    if any(seen.atomic_add(k, 1) > 4 for k in (0, 1)):
           ^^^^^^^^^^^^^^^^^^^^^
Fix: write a list, [seen.atomic_add(k, 1) > 4 for k in (0, 1)]
""")
def effect_in_a_generator(seen: vy.InOut[vy.i32, "n"]):
    if any(seen.atomic_add(k, 1) > 4 for k in (0, 1)):
        seen[vy.index()] = 1


@case("""
31: `:=` in an operand that is evaluated under a condition
    y = 1 if seen[i] > 2 and (k := 5) > 2 else 0
                              ^^^^^^
Fix: write an assignment before
""")
def named_under_a_condition(seen: vy.InOut[vy.i32, "n"]):
    i, k = vy.index(), 3
    y = 1 if seen[i] > 2 and (k := 5) > 2 else 0
    seen[i] = y + k


@case("""
38: an atomic in the message of an assertion always takes effect
    assert seen[0] > 3, "first".join(seen.atomic_add(0, 1))
                                     ^^^^^^^^^^^^^^^^^^^^^
Fix: do it in a statement before
""")
def effect_in_a_message(seen: vy.InOut[vy.i32, "n"]):
    assert seen[0] > 3, "first".join(seen.atomic_add(0, 1))


@case("""
9: found.append(…) changes a Python object, whatever the condition of the program is
        found.append(3)
        ^^^^^^^^^^^^^^^
Fix: assign a new one, as in found = [*found, x]
""")
def list_under_a_condition(seen: vy.InOut[vy.i32, "n"]):
    found = [1]
    if seen[vy.index()] > 2:
        found.append(3)
    seen[vy.index()] = len(found)


@case("""
9: found.update(…) changes a Python object, whatever the condition of the program is
        found.update(b=3)
        ^^^^^^^^^^^^^^^^^
Fix: assign a new one, as in found = {**found, key: x}
""")
def dictionary_under_a_condition(seen: vy.InOut[vy.i32, "n"]):
    found = {"a": 1}
    if seen[vy.index()] > 2:
        found.update(b=3)
    seen[vy.index()] = len(found)


@case("""
12: 'k' has no value behind the loop that it counts, at line LINE
    return k
           ^
Fix: give another name a value before the loop, and assign to it there, as in last = vy.i32(k)
""")
def element_of_a_loop_that_the_program_leaves(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.u32, "n"]:
    for k in (1, 2):
        if x[k] > 0.0:
            break
    return k


@case("""
13: `break` of a `while` loop that is unrolled, under a condition of the program
            break
            ^^^^^
Fix: state a limit on its iterations, as in `while vy.bounded(…, 1000)`, a loop of the program
""")
def break_of_an_unrolled_while_loop(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.u32, "n"]:
    stride = 4
    while stride > 0:
        if x[stride] > 0.0:
            break
        stride //= 2
    return stride


@case("""
14: a loop that counts below 0 or downwards is unrolled, and this one has 1002 iterations
    for k in range(-1000, 2):
             ^^^^^^^^^^^^^^^
Fix: count from 0 upwards, as in range(1002), and compute the number in the loop
""")
def negative_bound(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
    for k in range(-1000, 2):
        pass
    return 1


@case("""
14: the elements are not known while the kernel is compiled
    for v in x:
             ^
Fix: count with `for k in range(…)` and index the array
""")
def loop_over_an_array(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
    for v in x:
        pass
    return 1


@case("""
12: a value is returned, but the kernel has no annotation of what it returns
    return x[0]
           ^^^^
Fix: annotate what the kernel returns, as in -> vy.Array[vy.f32, 'n']
""")
def result_without_annotation(x: vy.Array[vy.f32, "n"]):
    return x[0]


@case("""
9: the launch has no shape, because the kernel has no result
    i = vy.index()
        ^^^^^^^^^^
Fix: annotate the result, as in -> vy.Array[vy.f32, 'n'], or write @vy.kernel(shape=('n',))
""")
def no_shape(x: vy.Array[vy.f32, "n"]):
    i = vy.index()


@case("""
19: the parameter 'x' has no annotation
def no_annotation(x):
                  ^
Fix: write its type, such as vy.f32 or vy.Array[vy.f32, 'n']
""")
def no_annotation(x):
    pass


@case("""
29: got Python's type float, expected one that says its width
def annotation_of_python(x: float):
                            ^^^^^
Fix: use vy.f32 or vy.f64; an array is vy.Array[vy.f32, 'n']
""")
def annotation_of_python(x: float):
    pass


@case("""
28: got the type ndarray, expected a type
def annotation_of_numpy(x: np.ndarray):
                           ^^^^^^^^^^
Fix: use one of vy.bool_, vy.u8, vy.u16, vy.u32, vy.u64, vy.i8, vy.i16, vy.i32, vy.i64, vy.f16, vy.bf16, vy.f32, vy.f64, or NumPy's type of one; an array is vy.Array[vy.f32, 'n']
""")  # noqa: E501
def annotation_of_numpy(x: np.ndarray):
    pass


@case("""
66: the length of 'm' follows from no input
def unknown_length(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "m"]:
                                                                 ^^^
Fix: use a shape variable of the inputs, a number, or a parameter that is one, m: vy.u32
""")
def unknown_length(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "m"]:
    return x[0]


@case("""
65: the length of 'n' follows from no input
def length_of_scalars(x: vy.f32, y: vy.f32) -> vy.Array[vy.f32, "n"]:
                                                                ^^^
Fix: annotate an input that is an array as one, as in x: vy.Array[vy.f32, 'n']
""")
def length_of_scalars(x: vy.f32, y: vy.f32) -> vy.Array[vy.f32, "n"]:
    return x + y


@case(
    """
5: all invocations update total[0] at once, and lose updates of others
    total[0] += x[vy.index()]
    ^^^^^^^^
Fix: write an atomic, as in total.atomic_add(0, x), or compute it outside of the kernel, as with vy.sum(x), or in one invocation, as with @vy.kernel(shape=1)
""",  # noqa: E501
    shape="n",
)
def lost_updates(x: vy.Array[vy.u32, "n"], total: vy.InOut[vy.u32, 1]):
    total[0] += x[vy.index()]


@case(
    """
9: all invocations update total[1] at once, and lose updates of others
        total[1] = x[vy.index()] + total[1]
        ^^^^^^^^
Fix: compute it outside of the kernel, as with vy.sum(x), or in one invocation, as with @vy.kernel(shape=1)
""",
    shape="n",
)
def lost_updates_of_floats(x: vy.Array[vy.f32, "n"], total: vy.InOut[vy.f32, 2]):
    for _ in range(3):
        total[1] = x[vy.index()] + total[1]


@vy.kernel
def whole(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
    return x[vy.index()]


@case("""
12: 'whole' is a kernel, which only the host launches
    return whole(x)[0]
           ^^^^^^^^
Fix: decorate what both compute with @vy.func, and call that function in both kernels
""")
def calls_a_kernel(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
    return whole(x)[0]


@case("""
5: a kernel does not print values of the program
    print(x[0], end="")  # noqa: T201
    ^^^^^^^^^^^^^^^^^^^
Fix: add a result that holds the value, as in seen: vy.Out[vy.f32, "n"], and store it: seen[i] = value
""")
def prints(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
    print(x[0], end="")  # noqa: T201
    return x[0]


@case("""
12: the elements are not known while the kernel is compiled
    return sum(x)
           ^^^^^^
Fix: count with `for k in range(…)` and index the array; outside of a kernel, vy.sum computes with whole arrays
""")
def sums_an_array(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
    return sum(x)


@case("""
17: the elements are not known while the kernel is compiled
    for k, y in enumerate(x):
                ^^^^^^^^^^^^
Fix: count with `for k in range(…)` and index the array
""")
def enumerates_an_array(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
    for k, y in enumerate(x):
        pass
    return x[0]


@case("""
5: the launch has one axis, so its index is one value
    i, j = vy.index()
    ^^^^
Fix: write i = vy.index(), or state more axes, as in shape=('h', 'w')
""")
def two_indices_of_one_axis(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
    i, j = vy.index()
    return x[i] + x[j]


@case("""
12: Python's `%` means something else than the program's division of f32
    return x[vy.index()] % 2.0
           ^^^^^^^^^^^^^^^^^^^
Fix: write x - vy.floor(x / y) * y, where each operation is rounded
""")
def remainder_of_floats(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
    return x[vy.index()] % 2.0


@case("""
12: floor_mod takes integers, got f32
    return vy.floor_mod(x[vy.index()], 2.0)
           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
Fix: write x - floor(x / y) * y, where each operation is rounded
""")
def floor_mod_of_floats(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
    return vy.floor_mod(x[vy.index()], 2.0)


@case("""
12: 100000 is not a value of f16
    return x[vy.index()] * 100000
           ^^^^^^^^^^^^^^^^^^^^^^
Fix: use a type that holds it, or write float('inf')
""")
def integer_that_f16_does_not_hold(x: vy.Array[vy.f16, "n"]) -> vy.Array[vy.f16, "n"]:
    return x[vy.index()] * 100000


@case("""
12: 1e+50 is not a value of f32
    return vy.f32(1e50) * x[vy.index()]
           ^^^^^^^^^^^^
Fix: use a type that holds it, or write float('inf')
""")
def float_that_f32_does_not_hold(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
    return vy.f32(1e50) * x[vy.index()]


@case("""
5: nothing uses the value of x[i] + 1
    x[i] + 1
    ^^^^^^^^
Fix: assign it to a name, store it in an array, or leave the line out
""")
def sum_that_nothing_uses(x: vy.Array[vy.f32, "n"], out: vy.Out[vy.f32, "n"]) -> None:
    i = vy.index()
    out[i] = x[i]
    x[i] + 1


@case("""
5: nothing uses what the comparison least == 3.0 gives
    least == 3.0
    ^^^^^^^^^^^^
Fix: assign with one `=`, as in least = 3.0, or leave the line out
""")
def comparison_for_an_assignment(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
    least = 0.0
    least == 3.0
    return x[vy.index()] + least


@case("""
5: nothing uses what the comparison 3.0 == x[0] gives
    3.0 == x[0]
    ^^^^^^^^^^^
Fix: assign it to a name, store it in an array, or leave the line out
""")
def comparison_that_nothing_uses(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
    3.0 == x[0]
    return x[vy.index()]


@case("""
5: nothing uses the value of vy.sqrt(x[i])
    vy.sqrt(x[i])
    ^^^^^^^^^^^^^
Fix: assign it to a name, store it in an array, or leave the line out
""")
def call_whose_result_is_dropped(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
    i = vy.index()
    vy.sqrt(x[i])
    return x[i]


@case(
    """
5: nothing uses the value of vy.subgroup('reduce_add', x[vy.index()])
    vy.subgroup("reduce_add", x[vy.index()])
    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
Fix: assign it to a name, store it in an array, or leave the line out
""",
    subgroup_size=32,
)
def collective_whose_result_is_dropped(x: vy.Array[vy.u32, "n"]) -> vy.Array[vy.u32, "n"]:
    vy.subgroup("reduce_add", x[vy.index()])
    return x[vy.index()]


@case("""
5: nothing uses the value of x[vy.index()]
    x[vy.index()]
    ^^^^^^^^^^^^^
Fix: return it, as in return x[vy.index()], or leave the line out
""")
def last_expression(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
    x[vy.index()]


@case("""
5: 'vy.barrier' is named and not called
    vy.barrier
    ^^^^^^^^^^
Fix: call it, as in vy.barrier()
""")
def function_that_is_not_called(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
    vy.barrier
    return x[vy.index()]


@case("""
5: 'counts.atomic_add' is named and not called
    counts.atomic_add
    ^^^^^^^^^^^^^^^^^
Fix: call it, as in counts.atomic_add(…)
""")
def atomic_that_is_not_called(x: vy.Array[vy.u8, "n"], counts: vy.InOut[vy.u32, 256]) -> None:
    counts.atomic_add


MANY = np.ones(5000, np.float32)


@case("""
14: loops and comprehensions are unrolled to more than 4096 iterations in this kernel
    for w in MANY:
             ^^^^
Fix: count with `for k in range(n)`, a loop of the program, and index a NumPy array by k for known numbers
""")
def loop_over_many_elements(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
    total = vy.f32(0)
    for w in MANY:
        total += w * x[0]
    return total


@case("""
19: loops and comprehensions are unrolled to more than 4096 iterations in this kernel
        for _k in itertools.count():
                  ^^^^^^^^^^^^^^^^^
Fix: count with `for k in range(n)`, a loop of the program, and index a NumPy array by k for known numbers
""")
def loops_without_end(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
    total = vy.f32(0)
    for _j in (1, 2):
        for _k in itertools.count():
            total += x[0]
    return total


@vy.func
def first_beyond(v: vy.f32) -> vy.f32:
    for k in itertools.count():
        if v < float(k):
            return v
    return v


@case("""
14: loops and comprehensions are unrolled to more than 4096 iterations in this kernel
    for k in itertools.count():
             ^^^^^^^^^^^^^^^^^
Fix: count with `for k in range(n)`, a loop of the program, and index a NumPy array by k for known numbers
""")
def returning_loop_without_end(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
    return first_beyond(x[vy.index()])


@case("""
30: loops and comprehensions are unrolled to more than 4096 iterations in this kernel
    return sum(x[k] for k in range(10**9))
                             ^^^^^^^^^^^^
Fix: count with `for k in range(n)`, a loop of the program, and index a NumPy array by k for known numbers
""")
def sum_of_many_values(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
    return sum(x[k] for k in range(10**9))


@case("""
44: comprehensions compute more than 65536 elements while this kernel is compiled
    return x[vy.index()] * len([k for k in range(10**9) if k < 0])
                                           ^^^^^^^^^^^^
Fix: compute them outside of the kernel, in a NumPy array, and use that
""")
def many_elements(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
    return x[vy.index()] * len([k for k in range(10**9) if k < 0])


def test_a_long_loop_of_the_program_is_the_remedy_for_one_that_is_unrolled() -> None:
    @vy.kernel
    def counted(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
        total = vy.f32(0)
        for k in range(len(MANY)):
            total += MANY[k] * x[0]
        return total

    assert counted(np.float32([2])).tolist() == [2 * len(MANY)]


@vy.func
def doubled(v: vy.f32) -> vy.f32:
    return v * 2.0


@case("""
5: nothing uses the value of doubled(x[i])
    doubled(x[i])
    ^^^^^^^^^^^^^
Fix: assign it to a name, store it in an array, or leave the line out
""")
def device_function_whose_result_is_dropped(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
    i = vy.index()
    doubled(x[i])
    return x[i]


def test_a_result_in_which_nothing_is_stored_is_refused() -> None:
    def copied(x: vy.InOut[vy.f32, "n"]) -> None:
        y = x[vy.index()]
        y += 1.0

    with pytest.raises(vy.KernelError) as error:
        vy.kernel(copied).program
    assert error.value.message == "nothing is stored in the result 'x'"
    assert error.value.fix == "store its elements, as in x[vy.index()] = x, or annotate it with vy.Array"

    def nothing(x: vy.Array[vy.f32, "n"]) -> None:
        pass

    with pytest.raises(vy.KernelError) as error:
        vy.kernel(nothing).program
    assert error.value.message == "the kernel has no result, and no assertion"

    @vy.kernel(shape="n")
    def positive(x: vy.Array[vy.f32, "n"]) -> None:
        assert x[vy.index()] > 0, "not positive"

    assert positive(np.float32([1])) is None
    with pytest.raises(vy.Trapped, match="not positive"):
        positive(np.float32([-1]))


class Plain:
    pass


class Mode(enum.Enum):
    FAST = 1


class Place:
    x: vy.f32


HELD, SEEN, SETTINGS = Plain(), [], {"scale": 1}


@case("""
5: 'HELD' is a Python object from outside of the kernel, and is changed
    HELD.value = x[0]
    ^^^^^^^^^^
Fix: return the value, or store it in an array
""")
def attribute_of_an_outer_object(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
    HELD.value = x[0]
    return x[vy.index()]


@case("""
5: a Python object from outside of the kernel would hold a value of the program
    SEEN.append(x[vy.index()])
    ^^^^^^^^^^^^^^^^^^^^^^^^^^
Fix: make it in the kernel, as in found = []; what a launch computes is stored in an array
""")
def outer_list(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
    SEEN.append(x[vy.index()])
    return x[vy.index()]


@case("""
5: an element of a Python object is changed
    SETTINGS["scale"] = 2
    ^^^^^^^^^^^^^^^^^
Fix: use a private array, as in vy.private(vy.f32, 3)
""")
def outer_dictionary(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
    SETTINGS["scale"] = 2
    return x[vy.index()]


@case("""
17: got Mode, expected a value or a number
    return 1 if x[vy.index()] == Mode.FAST else 0
                ^^^^^^^^^^^^^^^^^^^^^^^^^^
Fix: write .value behind it, as in Mode.FAST.value
""")
def comparison_with_a_member(x: vy.Array[vy.u32, "n"]) -> vy.Array[vy.u32, "n"]:
    return 1 if x[vy.index()] == Mode.FAST else 0


@case("""
12: got ndarray, expected a value or a number
    return MANY
           ^^^^
Fix: index it, as in table[i]
""")
def returned_table(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
    return MANY


@case("""
26: the class 'Place' is no structure
def class_as_elements(x: vy.Array[Place, "n"]) -> vy.Array[vy.f32, "n"]:
                         ^^^^^^^^^^^^^^^^^^^^
Fix: decorate it with @vy.struct
""")
def class_as_elements(x: vy.Array[Place, "n"]) -> vy.Array[vy.f32, "n"]:
    return x[0].x


@case("""
39: several arrays are annotated as a tuple
def pair(x: vy.Array[vy.f32, "n"]) -> (vy.Array[vy.f32, "n"], vy.Array[vy.f32, "n"]):
                                      ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
Fix: write -> tuple[vy.Array[vy.f32, 'n'], vy.Array[vy.f32, 'n']], or one array alone
""")
def pair(x: vy.Array[vy.f32, "n"]) -> (vy.Array[vy.f32, "n"], vy.Array[vy.f32, "n"]):
    return x[0], x[0]


def test_what_a_structure_does_not_do_is_refused() -> None:
    with pytest.raises(vy.BuildError) as error:

        @vy.struct
        class Doubled:
            x: vy.f32

            def __init__(self, x):
                self.x = x * 2

    assert error.value.message == "Doubled.__init__ would never be called: a structure is made of its fields"
    assert error.value.fix == "give the method another name, and call it as a method of a value"
    with pytest.raises(vy.BuildError, match=r"'Ball' is a dataclass\. Fix: leave @dataclass out"):

        @vy.struct
        @dataclasses.dataclass
        class Ball:
            x: vy.f32

    base = vy.struct(Place)
    with pytest.raises(
        vy.BuildError, match=r"'Place' is the base of a class\. Fix: write a field that holds it, as in b"
    ):

        class Moving(base):
            speed: vy.f32

    with pytest.raises(vy.BuildError, match=r"got Python's type float, .*\. Fix: use vy\.f32 or vy\.f64$"):

        @vy.struct
        class Wide:
            x: float


def test_a_tuple_is_returned_for_a_vector() -> None:
    @vy.kernel
    def pairs(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.Vec2[vy.f32], "n"]:
        i = vy.index()
        return x[i], 1.0

    assert pairs(np.float32([3])).tolist() == [[3, 1]]


def test_a_kernel_is_not_indexed_by_a_grid() -> None:
    with pytest.raises(vy.BuildError) as error:
        product[32, 64](1, ONES, PAIRS)
    assert str(error.value) == (
        "the kernel 'product' is not generic. Fix: call it as it is: the launch has the shape of its arrays"
    )


def test_what_is_returned_is_new() -> None:
    with pytest.raises(vy.InvalidLaunch) as error:
        product(1, ONES, PAIRS, out=ONES)
    assert error.value.fix == (
        "annotate a parameter with vy.Out, which takes the memory of a result; what is returned is new"
    )

    @vy.kernel
    def into(x: vy.Array[vy.f32, "n"], out: vy.Out[vy.f32, "n"]) -> None:
        out[vy.index()] = x[vy.index()] * 2.0

    memory = np.zeros(3, np.float32)
    into(ONES, out=memory)
    assert memory.tolist() == [2, 2, 2]


def test_what_acts_is_a_statement() -> None:
    @vy.func
    def kept(kept_in, at, v):
        """A device function that stores, and gives what it stored."""
        kept_in[at] = v
        return v

    @vy.kernel
    def statements(x: vy.Array[vy.u32, "n"], out: vy.Out[vy.u32, "n"], counts: vy.InOut[vy.u32, 4]) -> None:
        """A text is a comment."""
        i = vy.index()
        "here too"
        ...
        found = [x[i], 1]
        found.pop()
        [found.append(k) for k in range(2)]
        print(end="")  # noqa: T201
        (last := found[0] + 1)
        own = vy.private(vy.u32, 1)
        kept(own, 0, last)
        counts.atomic_add(x[i], 1) if len(found) == 3 else None
        out[i] = own[0]

    out, counts = statements(np.uint32([0, 2, 2]), np.zeros(4, np.uint32))
    assert (out.tolist(), counts.tolist()) == ([1, 3, 3], [1, 0, 2, 0])


@pytest.mark.parametrize(("function", "options", "expected"), CASES)
def test_message(function, options, expected):
    message = message_of(function, **options)
    shown = re.sub(r"(at line|line) \d+", r"\1 LINE", message)
    assert shown == expected


def test_only_numbers_have_defaults_and_no_kernel_has_parameters_of_variable_number() -> None:
    with pytest.raises(
        vy.KernelError, match=r"(?s)'x' has the default 'one'; only num.*\n.*Fix: pass it in each call$"
    ):

        @vy.kernel
        def text(x: vy.f32 = "one"):
            pass

    with pytest.raises(vy.KernelError, match=r"(?s)'x' has the default 1; only numbers have defaults"):

        @vy.kernel
        def array(x: vy.Array[vy.f32, "n"] = 1):
            pass

    with pytest.raises(vy.KernelError, match=r"(?s)variable number of parameters, got 'rest'\n.*Fix: name each$"):

        @vy.kernel
        def variable(*rest: vy.f32):
            pass


@vy.kernel
def product(a: vy.f32, x: vy.Array[vy.f32, "n"], y: vy.Array[vy.f32, "n", 2]) -> vy.Array[vy.f32, "n"]:
    i = vy.index()
    return a * x[i] * y[i, 0]


ONES, PAIRS = np.ones(3, np.float32), np.ones((3, 2), np.float32)
CALLS = [
    ((1, ONES[:2], PAIRS), {}, ("argument 'y': got 3 in the shape (3, 2), expected n = 2 elements, as 'x' has. "
     "Fix: pass arrays whose shapes agree with the declarations")),
    ((1, ONES, PAIRS[:, :1]), {}, ("argument 'y': got (3, 1), expected the shape f32[n, 2]. "
     "Fix: pass an array of the declared shape")),
    ((1, PAIRS, PAIRS), {}, ("argument 'x': got one of shape (3, 2), expected an array of one axis. "
     "Fix: pass an array of the declared shape, or reshape it")),
    ((1, [1.0], PAIRS), {}, ("argument 'x': got list, expected an array. "
     "Fix: pass a NumPy array, which has a type and a shape")),
    ((1, ONES.astype(np.float64), PAIRS), {}, ("argument 'x': got one of float64, expected an array of float32. "
     "Fix: convert it with .astype('float32'), or declare the buffer with its type")),
    ((1, ONES, ONES.astype(np.complex64)), {}, ("argument 'y': got one of complex64, expected an array of float32. "
     "Fix: pass its parts, z.real and z.imag, or both as a last axis, z.view('float32').reshape(*z.shape, 2)")),
    ((1, ONES.tobytes(), PAIRS), {}, ("argument 'x': got one of uint8, expected an array of float32. "
     "Fix: say what the bytes are, with numpy.frombuffer(data, 'float32')")),
    ((1, np.array(["a", "b"], object), PAIRS), {}, ("argument 'x': got one of object, expected an array of float32. "
     "Fix: give each text a number, as numpy.unique(texts, return_inverse=True) does, or read texts that are numbers, "
     "as in x.astype('float64')")),
    ((ONES, ONES, PAIRS), {}, ("argument 'a': got 3 elements, expected a number of f32. "
     "Fix: pass a number, or one element of the array")),
    ((PAIRS.astype(int), ONES, PAIRS), {}, ("argument 'a': got one of int64, expected a number of f32. "
     "Fix: pass a number, or one element of the array")),
    ((1, ONES), {}, "y: got none, expected a value for each input. Fix: pass 'y'"),
    ((1, ONES, PAIRS), {"z": 1}, ("z: got an unknown name, expected one of a, x, y. "
     "Fix: pass the parameters of the kernel")),
    ((1, ONES, PAIRS), {"backend": "cpu"}, ("backend: got an unknown name, expected one of "
     "a, x, y. Fix: name it before the call: product.on(…)(…)")),
    ((1, ONES, PAIRS), {"x": 1}, "x: got two, expected one value. Fix: pass it once"),
    ((1, ONES, PAIRS, 4), {}, "arguments: got 4, expected at most 3 inputs, or all 3 parameters. Fix: pass a, x, y"),
]  # fmt: skip


@pytest.mark.parametrize(("given", "named", "expected"), CALLS)
def test_a_call_refuses_what_the_annotations_exclude(given, named, expected):
    with pytest.raises(vy.VyreError) as error:
        product.on("reference")(*given, **named)
    assert str(error.value) == expected


def test_options_that_are_no_configuration_and_results_that_are_passed() -> None:
    with pytest.raises(vy.InvalidLaunch, match=r"config: got .*, expected a DispatchConfig\. Fix: pass vyre\.Disp"):
        product.on(config={"timeout": 3})
    with pytest.raises(vy.InvalidInput, match=r"'out': got the name of an output, .* Fix: leave it out: outputs are"):
        vy.run(product, a=1, x=ONES, y=PAIRS, out=ONES)


def halved(x: vy.Array[vy.u8, "n"]) -> vy.Array[vy.u8, "n"]:
    return x[vy.index()] >> 1


def test_the_options_of_a_kernel_are_checked() -> None:
    for shape, got in ((3.5, "3.5"), (0, "0"), (("h", "a b"), "'a b'"), (True, "True")):
        with pytest.raises(vy.BuildError) as error:
            vy.kernel(shape=shape)
        assert str(error.value) == (
            f"got {got} as an axis of the shape of the launch. "
            "Fix: pass names of shape variables, or lengths, as in shape=('h', 'w')"
        )
    with pytest.raises(vy.InvalidProgram, match=r"V010 workgroup_size \(.*test_kernel_errors\.py:\d+\): got 0 invoc"):
        vy.kernel(workgroup_size=0)(halved).program


@pytest.mark.parametrize(
    "body",
    [
        "return " + " + ".join(["x[0]"] * 2000),
        "if x[0] == 0: return 0\n    " + "elif x[0] == 1: return 1\n    " * 500 + "return 2",
    ],
)
def test_what_is_nested_too_deep_is_refused(tmp_path, body: str) -> None:
    file = tmp_path / "deep.py"
    array = 'vy.Array[vy.f32, "n"]'
    file.write_text(f"import vyre as vy\n\n@vy.kernel\ndef deep(x: {array}) -> {array}:\n    {body}\n", "utf-8")
    scope: dict[str, Any] = {}
    with pytest.raises(
        vy.KernelError, match=r"deep\.py:4:1: an expression, a chain of elif, or a chain of device func"
    ):
        exec(compile(file.read_text("utf-8"), str(file), "exec"), scope) or scope["deep"].program


def test_what_only_kernels_can_do_is_refused_elsewhere() -> None:
    with pytest.raises(vy.BuildError) as error:
        vy.index()
    assert str(error.value) == "index() is called outside of a kernel. Fix: call vy.index in a function with @vy.kernel"

    @vy.func
    def doubled(x):
        return x * 2

    with pytest.raises(vy.BuildError) as error:
        doubled(3)
    assert str(error.value) == (
        "the device function 'doubled' is called outside of a kernel. "
        "Fix: call it in a function with @vy.kernel or @vy.func"
    )


def test_functions_without_source_are_refused() -> None:
    scope: dict[str, object] = {"vy": vy}
    exec("def unseen(x: vy.f32): pass", scope)
    with pytest.raises(vy.BuildError) as error:
        vy.kernel(scope["unseen"])
    assert str(error.value) == (
        "the source of 'unseen' is not available, and a kernel is compiled from its source. "
        "Fix: define the function in a file, or in a cell of a notebook without %%time and the like; source that a "
        "program writes is registered with `linecache.lazycache`"
    )
    with pytest.raises(vy.BuildError) as error:
        vy.kernel(lambda x: x)
    assert str(error.value) == "got a lambda, expected a function. Fix: decorate a function that `def` makes"


def test_a_kernel_of_a_file_that_was_not_installed_is_refused(tmp_path: Path) -> None:
    """As in a frozen application, and where only compiled files are installed."""
    file = tmp_path / "shipped.py"
    file.write_text("import vyre as vy\n\n\n@vy.kernel\ndef unseen(x: vy.Array[vy.f32, 'n'], y: vy.f32):\n    pass\n")
    compiled = py_compile.compile(str(file), str(tmp_path / "shipped.pyc"))
    assert compiled is not None
    file.unlink()
    spec = importlib.util.spec_from_file_location("shipped", compiled)
    assert spec is not None
    assert spec.loader is not None
    with pytest.raises(vy.BuildError) as error:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))
    assert str(error.value) == (
        f"the source of 'unseen' is not available, and a kernel is compiled from its source: there is no {file}. "
        "Fix: install the file beside the compiled one; 'Frozen applications' of docs/install.md says how freezers do "
        "it"
    )


def test_a_function_that_is_compiled_to_machine_code_is_refused() -> None:
    class compiled_function:
        __code__ = test_functions_without_source_are_refused.__code__
        __name__ = "scaled"

        def __call__(self) -> None: ...

    for given, kind in ((compiled_function(), "compiled_function"), (len, "builtin_function_or_method")):
        for decorator in (vy.kernel, vy.func):
            with pytest.raises(vy.BuildError) as error:
                decorator(given)
            assert str(error.value) == (
                f"got {kind}, expected a function. Fix: decorate a function that `def` makes, in a module that no tool "
                "compiles to machine code, as Cython and Nuitka do"
            )


HALF = """import vyre as vy

WEIGHT = 0.5

def scaled(y: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
    i = vy.index()
    return y[i] * 0.5

def make():
    weight = 0.25

    @vy.kernel
    def inner(y: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
        return y[vy.index()] * weight

    return inner
"""


def imported_from(file: Path):
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("def scaled", "import os\ndef other(y: int):\n    pass\n\ndef scaled"),
        ("def scaled", "def scaled(y: float):\n    '\n\ndef scaled"),
        ("WEIGHT", "#\nWEIGHT"),
        ("* 0.5", "* 0.75"),
        ("* 0.5", "+ 0.5"),
        ("* 0.5", "* WEIGHT"),
        ("    i =", "    j = i ="),
        ("def scaled", "@vy.func\ndef scaled"),
    ],
)
def test_functions_whose_file_has_changed_are_refused(old: str, new: str, tmp_path: Path) -> None:
    file = tmp_path / "edited.py"
    file.write_text(HALF)
    module = imported_from(file)
    assert vy.kernel(module.scaled)(np.float32([4])).tolist() == [2]
    file.write_text(HALF.replace(old, new, 1))
    os.utime(file, (1, 1))
    with pytest.raises(vy.BuildError) as error:
        vy.kernel(module.scaled)
    assert str(error.value) == (
        "the source of 'scaled' has changed since Python compiled it. Fix: import the module again, or start a new "
        "process; tools that rewrite functions must leave kernels out"
    )
    file.write_text(HALF.replace(old, new, 1).replace("'\n", "''\n"))
    os.utime(file, (2, 2))  # in one second Python takes the compiled file for that of this text
    again = imported_from(file)  # which is the remedy
    if not isinstance(again.scaled, vy.kernels.device.DeviceFunction):
        assert vy.kernel(again.scaled).__name__ == "scaled"


def test_a_kernel_that_is_made_after_an_edit_is_refused(tmp_path: Path) -> None:
    """A script that runs for long makes its kernels later than Python has read it."""
    file = tmp_path / "running.py"
    file.write_text(HALF)
    module = imported_from(file)
    assert module.make()(np.float32([4])).tolist() == [1]
    file.write_text(HALF.replace("] * weight", "] / weight"))
    os.utime(file, (1, 1))
    with pytest.raises(vy.BuildError, match=r"source of 'inner' has changed since Python compiled it"):
        module.make()
    file.write_text(HALF + "# what stands behind a kernel does not matter\n")
    os.utime(file, (2, 2))
    assert module.make()(np.float32([4])).tolist() == [1]


@pytest.mark.parametrize("future", ["", "from __future__ import annotations"])
@pytest.mark.filterwarnings("error")
def test_cells_of_a_notebook_are_compiled_under_earlier_imports_of_future(future: str, tmp_path: Path) -> None:
    """A notebook compiles a cell with the flags of `from __future__` in earlier ones, and lets it await."""
    file = tmp_path / "cell.py"
    text = HALF + "import asyncio\n\nawait asyncio.sleep(0)\nassert (1, '\\d')\n"
    file.write_text(text)
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT | (__future__.annotations.compiler_flag if future else 0)
    with warnings.catch_warnings(action="ignore"):
        code = compile(text, str(file), "exec", flags, dont_inherit=True)
    scope: dict[str, Any] = {}
    asyncio.run(eval(code, scope))
    assert vy.kernel(scope["scaled"])(np.float32([4])).tolist() == [2]


@pytest.mark.parametrize(
    ("old", "new"), [("* 0.5", "* 0.75"), ("* 0.5", "* WEIGHT"), ("    i =", "    j = 2\n    i =")]
)
def test_a_kernel_on_a_page_that_is_no_module_is_compared_alone(old: str, new: str, tmp_path: Path) -> None:
    """Tools that run the examples of a page compile each with the name of the page, and with its lines."""
    page = tmp_path / "page.md"
    text = "# A page, with no Python in it\n\n```python\n"
    page.write_text(f"{text}{HALF}```\n")
    scope: dict[str, Any] = {}
    exec(compile("\n" * text.count("\n") + HALF, str(page), "exec"), scope)
    assert vy.kernel(scope["scaled"])(np.float32([4])).tolist() == [2]
    assert scope["make"]()(np.float32([4])).tolist() == [1]
    page.write_text(f"{text}{HALF}```\n".replace(old, new, 1))
    os.utime(page, (1, 1))
    with pytest.raises(vy.BuildError, match=r"source of 'scaled' has changed since Python compiled it"):
        vy.kernel(scope["scaled"])


def test_statements_of_a_cell_are_compiled_apart(tmp_path: Path) -> None:
    """IPython does so: calls of a module are other code where the import is not seen."""
    file = tmp_path / "cell.py"
    file.write_text(HALF)
    scope: dict[str, Any] = {}
    for statement in ast.parse(HALF).body:
        exec(compile(ast.Module([statement], []), str(file), "exec"), scope)
    assert vy.kernel(scope["scaled"])(np.float32([4])).tolist() == [2]
    assert scope["make"]()(np.float32([4])).tolist() == [1]


def test_assertions_that_pytest_has_rewritten_are_read() -> None:
    @vy.kernel
    def asserted(y: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
        assert len(y.shape) == 1, "one axis"
        return y[vy.index()]

    assert asserted(np.float32([4])).tolist() == [4]


def test_findings_of_validation_name_the_line_of_the_kernel() -> None:
    @vy.kernel(workgroup_size=64)
    def uneven(x: vy.InOut[vy.u32, "n"]):
        if x[vy.index()] > 3:
            vy.barrier()

    with pytest.raises(vy.InvalidProgram, match=r"test_kernel_errors\.py:\d+.*Fix: "):
        uneven.program


def test_the_traceback_ends_at_the_call() -> None:
    """The frames of the compiler would hide the line that the message shows."""
    with pytest.raises(vy.KernelError) as error:
        vy.kernel(mixed_types)(np.zeros(1, np.uint8), np.zeros(1, np.float32))
    assert "statements.py" not in "".join(map(str, error.traceback))
    assert len(error.traceback) < 8


def test_a_kernel_that_calls_itself_is_refused() -> None:
    @vy.kernel
    def again(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
        return again(x)[0]

    with pytest.raises(vy.KernelError, match=r"the kernel 'again' calls itself\n[^F]*Fix: write a loop"):
        again.program


def test_a_method_is_no_kernel() -> None:
    with pytest.raises(vy.KernelError, match=r"a kernel is a function, and no method\n[^F]*Fix: leave 'self' out, and"):

        class Refused:
            @vy.kernel
            def halved(self, x: vy.Array[vy.u8, "n"]) -> vy.Array[vy.u8, "n"]:
                return x[vy.index()] >> 1

    class Accepted:
        @staticmethod
        @vy.kernel
        def halved(x: vy.Array[vy.u8, "n"]) -> vy.Array[vy.u8, "n"]:
            return x[vy.index()] >> 1

    assert Accepted.halved(np.uint8([2, 5])).tolist() == [1, 2]
    assert Accepted().halved(np.uint8([2, 5])).tolist() == [1, 2]


def test_an_infinity_is_written_as_one() -> None:
    @vy.kernel
    def least(x: vy.Array[vy.f16, "n"]) -> vy.Array[vy.f16, "n"]:
        return vy.min(vy.f16(float("inf")), x[vy.index()]) + 65504 * 0

    assert least(np.float16([1.5])).tolist() == [1.5]


def test_a_structured_array_is_not_converted_to_numbers() -> None:
    points = np.zeros(3, [("x", np.float32), ("y", np.float32)])
    with pytest.raises(
        ValueError, match=r"got an array of structures, expected .*Fix: pass a field of it, as in x\['x'\]"
    ):
        whole(points)
    assert whole(points["x"]).tolist() == [0, 0, 0]


def test_a_function_of_values_refuses_arrays_of_a_device() -> None:
    with pytest.raises(
        vy.BuildError, match=r"got DeviceArray, expected a value or a number\. Fix: pass the array to a ker"
    ):
        vy.sqrt(vy.array(np.float32([4])))


def test_a_configuration_is_passed_by_name() -> None:
    with pytest.raises(ValueError, match=r"backend: got a DispatchConfig, .*Fix: name it, as in on\(config=Dispatch"):
        whole.on(vy.DispatchConfig(timeout=1))
    assert whole.on(config=vy.DispatchConfig(timeout=60))(np.float32([1])).tolist() == [1]
