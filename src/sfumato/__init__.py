"""sfumato: the privacy toolkit for image features.

The public names are those of `__init__.pyi`. Each is loaded when it is first used, so importing
the package stays light. `from sfumato import *` gives those that are installed.
"""

import lazy_loader

from sfumato.core.extras import name_extras

__version__ = "0.2.0"

_load, __dir__, _names = lazy_loader.attach_stub(__name__, __file__)
__getattr__ = name_extras(_load, "sf", _names)
