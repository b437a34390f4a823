"""Pictures with known truth: the built-in gallery, and readers of public datasets."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
