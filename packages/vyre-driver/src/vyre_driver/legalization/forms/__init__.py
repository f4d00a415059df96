"""Decompositions of ops into those that a target spells."""
