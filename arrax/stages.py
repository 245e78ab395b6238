"""Stages of compilation ahead of time (public names of ``arrax.transforms.stages``)."""

from arrax.core.tracebacks import bound_names as _bound_names
from arrax.transforms.stages import ArgInfo as ArgInfo
from arrax.transforms.stages import Compiled as Compiled
from arrax.transforms.stages import CompilerOptions as CompilerOptions
from arrax.transforms.stages import Lowered as Lowered
from arrax.transforms.stages import OutInfo as OutInfo
from arrax.transforms.stages import Traced as Traced
from arrax.transforms.stages import Wrapped as Wrapped

_bound_names(__name__)
