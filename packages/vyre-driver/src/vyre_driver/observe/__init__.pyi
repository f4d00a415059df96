from . import shadow as shadow, shadowed as shadowed, trace as trace, writing as writing
