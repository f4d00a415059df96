from . import attributes as attributes
from .calls import call as call, expand as expand, is_rare_call as is_rare_call, never as never, objection as objection
from .definition import (
    LANGUAGE as LANGUAGE,
    Composition as Composition,
    Dialect as Dialect,
    DialectProblem as DialectProblem,
    Expand as Expand,
    Migration as Migration,
    Validator as Validator,
    default_validator as default_validator,
)
from .errors import (
    DuplicateOpId as DuplicateOpId,
    SignatureMismatch as SignatureMismatch,
    UnknownCallee as UnknownCallee,
)
from .registry import (
    dialect_problems as dialect_problems,
    discover_with as discover_with,
    installed_dialects as installed_dialects,
    lookup as lookup,
    refresh as refresh,
    register as register,
    registered_ops as registered_ops,
    registration as registration,
    unregister as unregister,
)
