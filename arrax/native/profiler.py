"""The runtime's profiler: sessions, annotations, the server, and reading what was recorded."""

from jaxlib import _profile_data, _profiler  # type: ignore[attr-defined]

ProfileData = _profile_data.ProfileData
ProfileEvent = _profile_data.ProfileEvent
ProfilePlane = _profile_data.ProfilePlane
ProfileOptions = _profiler.ProfileOptions
ProfilerSession = _profiler.ProfilerSession
TraceMe = _profiler.TraceMe
register_subprocess = getattr(_profiler, "register_subprocess", None)
start_server = _profiler.start_server
