from .bench import ProbeDevice as ProbeDevice
from .choice import choose as choose
from .device import examine_device as examine_device, prove_device as prove_device
from .recurrences import require_recurrences as require_recurrences
