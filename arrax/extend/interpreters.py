"""Rules of primitives, for libraries that extend arrax: the modules of ``arrax.interpreters``."""

from arrax.interpreters import ad as ad
from arrax.interpreters import batching as batching
from arrax.interpreters import mlir as mlir
from arrax.interpreters import partial_eval as partial_eval
from arrax.interpreters import xla as xla
