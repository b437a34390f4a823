"""Public words that descriptors are replaced by: build, index, store, and bundled ones."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
