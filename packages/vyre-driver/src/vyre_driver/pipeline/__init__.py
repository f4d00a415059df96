"""How is nothing compiled twice?"""
