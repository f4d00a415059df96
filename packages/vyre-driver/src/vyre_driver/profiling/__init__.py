"""What did a dispatch decide, and how close to the limits of its device does it run?"""

SECONDS = 0.5
"""How long a profile runs by default, after its first runs."""
