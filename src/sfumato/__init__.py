"""sfumato: the privacy toolkit for image features.

The public names are those of `__init__.pyi`. Each is loaded when it is first used, so importing
the package stays light.
"""

import lazy_loader

__version__ = "0.1.0.dev0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
