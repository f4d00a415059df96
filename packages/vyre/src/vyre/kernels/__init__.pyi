from .explanation import explained as explained, explained_launch as explained_launch
from .recording import record_call as record_call
