"""LDP-FEAT, Tables 1 and 4; affine, Fig. 3; reverse, Table 1: pictures painted from releases."""
