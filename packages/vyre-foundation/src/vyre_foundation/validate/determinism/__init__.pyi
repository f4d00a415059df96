from .proof import find_determinism as find_determinism
