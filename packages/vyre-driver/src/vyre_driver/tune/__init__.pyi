from . import variants as variants
