from .address import Address as Address, Query as Query
from .case import Case as Case, Launch as Launch, Size as Size, Spec as Spec
from .cell import Cell as Cell, State as State
from .gaps import Gap as Gap, read_gaps as read_gaps
from .proving import prove as prove
from .report import Report as Report
from .run import (
    Exit as Exit,
    Run as Run,
    Task as Task,
    merge as merge,
    read_run as read_run,
    write_run as write_run,
)
from .suite import Suite as Suite

__version__: str
