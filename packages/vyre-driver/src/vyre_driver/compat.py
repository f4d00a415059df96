"""Promised names that are aliases. They are defined only here.

The promised interface distinguishes variants that are one in Python: functions that return an error (errors are
raised), functions for other integer types, pipelines that share a program (programs are immutable), and a primary and a
secondary language of dialects (languages have names).
"""

from __future__ import annotations

from typing import TypeAlias

from vyre_driver.backend.aot import Emit
from vyre_driver.observe.builds import compile_with_telemetry
from vyre_driver.observe.live import compile
from vyre_driver.pipeline.artifact import Artifact
from vyre_driver.plan.params import dispatch_param_words, dispatch_param_words_into
from vyre_driver.plan.shapes import resolve_fixpoint_iterations
from vyre_driver.plan.tail import coerce_to_pow2_with_tail_mask
from vyre_foundation.dialects import Composition, DuplicateOpId
from vyre_foundation.dialects.lowering import TextBuilder
from vyre_foundation.errors import VyreError

Error: TypeAlias = VyreError
DuplicateOpIdError: TypeAlias = DuplicateOpId

OpDefRegistration: TypeAlias = Composition
PrimaryTextBuilder: TypeAlias = TextBuilder
SecondaryTextBuilder: TypeAlias = TextBuilder

NativeModule: TypeAlias = Artifact
NativeModuleBuilder: TypeAlias = Emit
PrimaryBinaryBuilder: TypeAlias = Emit

compile_shared = compile
compile_shared_with_telemetry = compile_with_telemetry
resolve_fixpoint_iterations_usize = resolve_fixpoint_iterations
try_coerce_to_pow2_with_tail_mask = coerce_to_pow2_with_tail_mask
try_dispatch_param_words = dispatch_param_words
try_dispatch_param_words_into = dispatch_param_words_into
