"""What a curious server can learn from what it was sent."""
