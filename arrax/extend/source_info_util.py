"""Where operations come from (public names): lines and scopes, and which files count as the user's."""

from arrax.core.calls import register_exclusion as register_exclusion
from arrax.core.name_stacks import NameStack as NameStack
from arrax.core.program import SourceInfo as SourceInfo
from arrax.core.source_places import current as current
from arrax.core.source_places import current_name_stack as current_name_stack
from arrax.core.source_places import extend_name_stack as extend_name_stack
from arrax.core.source_places import new_name_stack as new_name_stack
from arrax.core.source_places import new_source_info as new_source_info
from arrax.core.source_places import reset_name_stack as reset_name_stack
from arrax.core.source_places import set_name_stack as set_name_stack
from arrax.core.source_places import summarize as summarize
from arrax.core.source_places import transform_name_stack as transform_name_stack
from arrax.core.source_places import user_context as user_context
from arrax.core.tracebacks import bound_names as _bound_names

_bound_names(__name__)
