"""TEMPORARY (owner): replaced by the writer of the numpy chapters; overwrite freely."""
from arrax.lax.arithmetic import add as clip, add as compress, add as nonzero, add as choose, add as searchsorted, add as sort, add as argsort, add as argpartition  # noqa
