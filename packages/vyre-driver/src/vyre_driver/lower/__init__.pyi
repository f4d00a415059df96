from .c.unit import print_unit as print_unit
from .dialect import CDialect as CDialect, SourceText as SourceText
from .lowered import (
    COUNTERS as COUNTERS,
    RUNS as RUNS,
    TRAPS as TRAPS,
    Kernel as Kernel,
    Launch as Launch,
    Lowered as Lowered,
    Repeat as Repeat,
    Step as Step,
)
from .operators import c_casts as c_casts, c_operators as c_operators
from .target import Arrangement as Arrangement, Groups as Groups, Target as Target
