"""Where operations come from (public face): which files count as the user's."""

from arrax.core.calls import register_exclusion as register_exclusion
