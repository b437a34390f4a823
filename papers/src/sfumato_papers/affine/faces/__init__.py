"""Affine embeddings, Fig. 4 and 5: faces verified on private embeddings, and attacked."""
