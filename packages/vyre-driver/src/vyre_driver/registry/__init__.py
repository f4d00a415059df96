"""Who is installed, and who is chosen?"""
