"""What travels between the parties, and what all of them stand on."""
