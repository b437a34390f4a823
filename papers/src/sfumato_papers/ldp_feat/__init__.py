"""LDP-FEAT: image features with local differential privacy (ICCV 2023)."""
