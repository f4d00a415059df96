"""Legalization: a valid program in the operations that a target has. Every pass is IR to IR and keeps all results."""
