from vyre_driver import (
    DispatchConfig as DispatchConfig,
    VyreBackend as VyreBackend,
    registered_backends_by_precedence as registered_backends_by_precedence,
)
from vyre_foundation import *  # noqa: F403
from vyre_foundation.functions import *  # noqa: F403
from vyre_math import *  # noqa: F403

from .execution import backend_for as backend_for, check as check, grid_for as grid_for, run as run
from .graphs import graph as graph

__version__: str
