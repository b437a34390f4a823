"""LDP-FEAT, Tables 1, S2 and S3: descriptors recovered from lifts and words of photographs."""
