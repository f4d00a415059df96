"""Workarounds for flaws of the compilers of OpenCL runtimes, one module each.

A module names the compiler, the release in which the flaw was seen, the symptom, and the test that holds a program
which shows it: that test, without the workaround, says when the flaw is gone.
"""
