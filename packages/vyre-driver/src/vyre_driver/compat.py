"""Promised names that are other names of something: one thing each, named here and nowhere else.

What can fail raises, so there is no second function that returns an error; an integer is an integer; programs are
immutable, so a pipeline shares them as they are; the languages of dialects are named, so none of them comes first.
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
