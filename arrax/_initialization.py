"""What completes the package: modules that fill slots of others, imported before the first array or traced value exists."""

from arrax.core import checking as checking  # checks programs where that is asked for
from arrax.core import printing as printing  # gives programs their text
from arrax.lax import asked_shardings as asked_shardings  # fills slots of types
from arrax.lax import type_slots as type_slots  # fills slots of types
from arrax.numpy_api import array_methods as array_methods  # gives arrays and tracers their methods
from arrax.numpy_api import data_types as data_types  # lets scalar types make arrays
from arrax.numpy_api import ufuncs as ufuncs  # gives functions of one and two operands their reductions
from arrax.transforms import layouts as layouts  # gives arrays their format
from arrax.transforms import pickled_functions as pickled_functions  # lets jitted functions be pickled
from arrax.transforms import stages as stages  # gives jitted functions lower, trace, eval_shape
from arrax.xla import dlpack as dlpack  # lets other libraries read arrays
from arrax.xla import forking as forking  # warns of forks
from arrax.xla import plugins as plugins  # finds GPU and TPU plugins at the first use of a device
from arrax.xla import shardings as shardings  # gives shardings their attributes
