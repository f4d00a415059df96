"""What did a dispatch decide, and how close to the limits of its device does it run?"""
