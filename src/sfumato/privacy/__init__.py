"""Examines the parties: the exact law of each mechanism, the audit, the planner."""
