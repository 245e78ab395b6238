"""Handing a recorded trace to the viewer at ui.perfetto.dev, which fetches it from this machine."""

from __future__ import annotations

import http.server
import socketserver
from pathlib import Path
from typing import Any

PORT = 9001  # the one that the viewer may fetch from


class _Server(socketserver.TCPServer):
    allow_reuse_address = True
    folder: str
    fetched = False


class _Handler(http.server.SimpleHTTPRequestHandler):
    """Serves one folder to the viewer."""

    server: _Server

    def __init__(self, request: Any, address: tuple[str, int], server: _Server) -> None:
        super().__init__(request, address, server, directory=server.folder)

    def end_headers(self) -> None:
        self.send_header("Access-Control-Allow-Origin", "*")
        super().end_headers()

    def do_GET(self) -> None:
        super().do_GET()
        self.server.fetched = True

    def log_message(self, *args: object) -> None:
        """Say nothing."""


def serve_once(trace: Path) -> None:
    """Print a link that opens a trace in the viewer, and wait until the viewer has fetched it.

    Raises:
      OSError: the port is taken.
    """
    with _Server(("127.0.0.1", PORT), _Handler, bind_and_activate=True) as server:
        server.folder = str(trace.parent)
        print(f"Open URL in browser: https://ui.perfetto.dev/#!/?url=http://127.0.0.1:{PORT}/{trace.name}", flush=True)
        while not server.fetched:
            server.handle_request()
