"""The pages people read: the demonstration, and what a photograph shows under attack."""
