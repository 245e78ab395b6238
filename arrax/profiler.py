"""Traces of what runs when, annotations in them, and what takes memory on the devices."""

from arrax.core.tracebacks import bound_names as _bound_names
from arrax.xla.profiling import ProfileData as ProfileData
from arrax.xla.profiling import ProfileEvent as ProfileEvent
from arrax.xla.profiling import ProfileOptions as ProfileOptions
from arrax.xla.profiling import ProfilePlane as ProfilePlane
from arrax.xla.profiling import StepTraceAnnotation as StepTraceAnnotation
from arrax.xla.profiling import TraceAnnotation as TraceAnnotation
from arrax.xla.profiling import annotate_function as annotate_function
from arrax.xla.profiling import device_memory_profile as device_memory_profile
from arrax.xla.profiling import register_subprocess as register_subprocess
from arrax.xla.profiling import save_device_memory_profile as save_device_memory_profile
from arrax.xla.profiling import start_server as start_server
from arrax.xla.profiling import start_trace as start_trace
from arrax.xla.profiling import stop_server as stop_server
from arrax.xla.profiling import stop_trace as stop_trace
from arrax.xla.profiling import trace as trace

_bound_names(__name__)
