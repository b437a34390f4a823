"""What can be inferred beside the picture itself: hidden regions, decoys, attributes."""
