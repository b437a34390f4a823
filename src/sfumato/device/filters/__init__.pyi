from .count import ConstantCount as ConstantCount
from .count import KeepStrongest as KeepStrongest
from .decoys import Decoys as Decoys
from .spread import KeepSpread as KeepSpread
from .stable import KeepStable as KeepStable
from .suppress import Suppress as Suppress
from .suppress import Suppression as Suppression
