from . import native as native
