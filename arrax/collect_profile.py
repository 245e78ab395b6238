"""Records a trace of a running program: ``python -m arrax.collect_profile PORT MILLISECONDS``.

The program has called ``arrax.profiler.start_server(PORT)``.
"""

import argparse as _argparse
import sys as _sys
from collections.abc import Sequence as _Sequence

from arrax.core.tracebacks import bound_names as _bound_names
from arrax.xla.profiling import collect_profile as _collect_profile

__all__ = ["main"]


def _parser() -> _argparse.ArgumentParser:
    parser = _argparse.ArgumentParser(
        prog="python -m arrax.collect_profile",
        description="Record a trace of a program that has started a profiler server.",
    )
    parser.add_argument("port", type=int, help="port of the profiler server")
    parser.add_argument("duration_in_ms", type=int, help="milliseconds to record")
    parser.add_argument("--log_dir", help="folder for the trace, under plugins/profile; by default a temporary one")
    parser.add_argument("--no_perfetto_link", action="store_true", help="do not offer the trace to ui.perfetto.dev")
    parser.add_argument("--host", default="127.0.0.1", help="machine of the program")
    parser.add_argument("--host_tracer_level", type=int, default=2, help="how much of the host to record: 0 to 3")
    parser.add_argument("--device_tracer_level", type=int, default=1, help="whether to record devices: 0 or 1")
    parser.add_argument("--python_tracer_level", type=int, default=1, help="whether to record Python: 0 or 1")
    return parser


def main(arguments: _Sequence[str] | None = None) -> int:
    """Record a trace as a command line says.

    Args:
      arguments: of the command line; those of the process for None.
    Returns: the exit code: 0, or 1 where it failed, which is said on standard error.
    Example: ``main(["9999", "10", "--no_perfetto_link"])`` is 1 where no server listens on port 9999.
    """
    given = _parser().parse_args(arguments)
    levels = given.host_tracer_level, given.device_tracer_level, given.python_tracer_level
    try:
        _collect_profile(
            given.port, given.duration_in_ms, given.host, given.log_dir, not given.no_perfetto_link, levels
        )
    except (OSError, RuntimeError, ValueError) as error:
        print(error, file=_sys.stderr)
        return 1
    return 0


_bound_names(__name__)

if __name__ == "__main__":
    _sys.exit(main())
