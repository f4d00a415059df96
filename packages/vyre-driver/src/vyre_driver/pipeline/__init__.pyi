from . import eviction as eviction, misses as misses
