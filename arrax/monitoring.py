"""Listening to what the system records about itself, such as compilations, and recording events of one's own."""

from arrax.core.monitoring import clear_event_listeners as clear_event_listeners
from arrax.core.monitoring import record_event as record_event
from arrax.core.monitoring import record_event_duration_secs as record_event_duration_secs
from arrax.core.monitoring import record_event_time_span as record_event_time_span
from arrax.core.monitoring import record_scalar as record_scalar
from arrax.core.monitoring import register_event_duration_secs_listener as register_event_duration_secs_listener
from arrax.core.monitoring import register_event_listener as register_event_listener
from arrax.core.monitoring import register_event_time_span_listener as register_event_time_span_listener
from arrax.core.monitoring import register_scalar_listener as register_scalar_listener
from arrax.core.monitoring import unregister_event_duration_listener as unregister_event_duration_listener
from arrax.core.monitoring import unregister_event_listener as unregister_event_listener
from arrax.core.monitoring import unregister_event_time_span_listener as unregister_event_time_span_listener
from arrax.core.monitoring import unregister_scalar_listener as unregister_scalar_listener
from arrax.core.tracebacks import bound_names as _bound_names

_bound_names(__name__)
