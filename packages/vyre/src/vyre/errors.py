"""The errors of launches that callers catch."""

from vyre_driver.errors import DispatchTimeout, InvalidGraph, InvalidInput, InvalidLaunch, Trapped
from vyre_reference.errors import DataRace

__all__ = ["DataRace", "DispatchTimeout", "InvalidGraph", "InvalidInput", "InvalidLaunch", "Trapped"]
