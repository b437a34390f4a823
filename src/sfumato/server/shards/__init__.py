"""A map in several places: each shard answers for the images of one region."""
