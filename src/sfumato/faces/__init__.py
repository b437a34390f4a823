"""Faces: embeddings that say who someone is, and verification on what may be sent of them."""
