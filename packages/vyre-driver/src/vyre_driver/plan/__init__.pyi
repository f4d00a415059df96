from . import specialize as specialize
