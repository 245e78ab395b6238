"""Where operations come from (public names): which files count as the user's."""

from arrax.core.calls import register_exclusion as register_exclusion
