"""Ours: what is recognised in pictures painted from what was sent."""
