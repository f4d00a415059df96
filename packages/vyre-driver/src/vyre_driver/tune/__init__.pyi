from . import native as native, variants as variants
