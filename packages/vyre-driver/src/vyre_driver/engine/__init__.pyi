from . import artifact as artifact, lowering as lowering, sequence as sequence, traced as traced
