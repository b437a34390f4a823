"""Reverse engineering attacks on local features (Dangwal et al., 2021)."""
