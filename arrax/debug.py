"""Watching programs while they run, and looking into compiled ones."""

import typing as _typing

from arrax.core.late_names import late_names as _late_names
from arrax.core.tracebacks import bound_names as _bound_names
from arrax.lax.debug_prints import log_ as _log
from arrax.lax.debug_prints import print_ as _print
from arrax.lax.effectful_callbacks import DebugEffect as DebugEffect
from arrax.lax.effectful_callbacks import OrderedDebugEffect as OrderedDebugEffect
from arrax.lax.effectful_callbacks import callback_ as _callback
from arrax.transforms.sharding_pictures import inspect_array_sharding as inspect_array_sharding
from arrax.transforms.sharding_pictures import visualize_array_sharding as visualize_array_sharding
from arrax.transforms.sharding_pictures import visualize_sharding as visualize_sharding

# Names that their modules call otherwise; type checkers take them as public only when they are assigned.
log = _log
print = _print
callback = _callback

if _typing.TYPE_CHECKING:
    from arrax.transforms.debugger.breakpoints import breakpoint as breakpoint
    from arrax.transforms.drawing.pictures import Picture as Picture
    from arrax.transforms.drawing.pictures import draw as draw
    from arrax.transforms.explain import explain as explain
    from arrax.transforms.explanation import Explanation as Explanation
    from arrax.transforms.progress.reporting import progress as progress
    from arrax.transforms.recompilation_report import Recompilations as Recompilations
    from arrax.transforms.recompilation_report import recompiles as recompiles
    from arrax.transforms.recompilations import RecompilationError as RecompilationError
    from arrax.transforms.recompilations import RecompilationWarning as RecompilationWarning
    from arrax.transforms.watching.watched import Sample as Sample
    from arrax.transforms.watching.watched import Watched as Watched
    from arrax.transforms.watching.watched import watch as watch

_LATE = {
    "arrax.transforms.debugger.breakpoints": ("breakpoint",),
    "arrax.transforms.drawing.pictures": ("Picture", "draw"),
    "arrax.transforms.explain": ("explain",),
    "arrax.transforms.explanation": ("Explanation",),
    "arrax.transforms.progress.reporting": ("progress",),
    "arrax.transforms.recompilation_report": ("Recompilations", "recompiles"),
    "arrax.transforms.recompilations": ("RecompilationError", "RecompilationWarning"),
    "arrax.transforms.watching.watched": ("Sample", "Watched", "watch"),
}
__getattr__, __dir__, __all__ = _late_names(__name__, _LATE)

_bound_names(__name__)
