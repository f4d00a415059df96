from .dialects import discover as discover
