from .build import build_dictionary as build_dictionary
from .bundled import bundled_names as bundled_names
from .dictionary import Dictionary as Dictionary
