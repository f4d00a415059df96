"""What can this device do, and how fast is it?"""
