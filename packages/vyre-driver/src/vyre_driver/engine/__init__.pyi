from . import lowering as lowering
