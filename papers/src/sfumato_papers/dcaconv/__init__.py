"""Image classification in the local setting (Wang and Chang)."""
