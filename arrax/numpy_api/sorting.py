"""TEMPORARY: sorting comes with lax.sort."""
from arrax.lax.arithmetic import add as argpartition, add as argsort, add as sort  # noqa
