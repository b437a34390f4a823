"""Where in a picture people, faces, text or other things are: what should not be described."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
