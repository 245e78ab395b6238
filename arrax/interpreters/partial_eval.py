"""Staging and partial evaluation (public names of the modules with those names)."""

from arrax.interpreters.ad.partial import Partial as JaxprTrace
from arrax.interpreters.ad.partial import UnknownTracer as JaxprTracer
from arrax.interpreters.ad.partial import partial_eval as partial_eval
from arrax.interpreters.ad.partial_values import PartialVal as PartialVal
from arrax.interpreters.ad.partial_values import trace_to_jaxpr_nounits as trace_to_jaxpr_nounits
from arrax.interpreters.dce import dce_jaxpr as dce_jaxpr
from arrax.interpreters.staging import StagedTracer as DynamicJaxprTracer
from arrax.interpreters.staging import eval_jaxpr as eval_jaxpr
from arrax.interpreters.staging import stage as stage
from arrax.interpreters.staging import trace_to_jaxpr_dynamic as trace_to_jaxpr_dynamic

__all__ = [
    "DynamicJaxprTracer",
    "JaxprTrace",
    "JaxprTracer",
    "PartialVal",
    "dce_jaxpr",
    "eval_jaxpr",
    "partial_eval",
    "stage",
    "trace_to_jaxpr_dynamic",
    "trace_to_jaxpr_nounits",
]
