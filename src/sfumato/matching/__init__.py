"""Distances and matchers: vocabulary, nearest, subspace."""
