from . import claims as claims
from .client import Cancelled as Cancelled, Worker as Worker
from .fork_servers import ForkServers as ForkServers
from .opening import NamedBy as NamedBy
from .protocol import Hello as Hello
