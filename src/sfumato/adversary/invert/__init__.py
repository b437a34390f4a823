"""From descriptors back to the picture: what a curious server would see."""
