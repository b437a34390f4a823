"""Adversarial affine subspace embeddings (Dusmanu et al., CVPR 2021)."""
