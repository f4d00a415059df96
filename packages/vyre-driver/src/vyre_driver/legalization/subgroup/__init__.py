"""Subgroup operations from shuffles or workgroup memory."""
