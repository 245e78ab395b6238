"""What processes do together (public names)."""

from arrax.core.tracebacks import bound_names as _bound_names
from arrax.transforms.process_exchange import assert_equal as assert_equal
from arrax.transforms.process_exchange import broadcast_one_to_all as broadcast_one_to_all
from arrax.transforms.process_exchange import global_array_to_host_local_array as global_array_to_host_local_array
from arrax.transforms.process_exchange import host_local_array_to_global_array as host_local_array_to_global_array
from arrax.transforms.process_exchange import live_devices as live_devices
from arrax.transforms.process_exchange import process_allgather as process_allgather
from arrax.transforms.process_exchange import reached_preemption_sync_point as reached_preemption_sync_point
from arrax.transforms.process_exchange import sync_global_devices as sync_global_devices

_bound_names(__name__)
