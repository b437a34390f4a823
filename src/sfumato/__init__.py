"""sfumato: the privacy toolkit for image features."""
