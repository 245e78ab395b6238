"""Asking the profiler's server in another process for a trace: one gRPC call, written out.

The server speaks gRPC: a call is a stream of HTTP/2 with the request and the answer as protocol buffers, each behind five
bytes. One call with a short answer needs little of this (RFC 7540, RFC 7541, the protocol description of gRPC over HTTP/2).
"""

from __future__ import annotations

import socket
import struct

_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_DATA, _HEADERS, _RESET, _SETTINGS, _PING, _GO_AWAY, _WINDOW = 0, 1, 3, 4, 6, 7, 8  # types of frames
_ACKNOWLEDGED = _END_OF_STREAM = 1  # flags
_END_OF_HEADERS = 4
_STREAM = 1
_LARGEST_WINDOW = (1 << 31) - 1
_PATIENCE = 60.0  # seconds beyond the trace's own


def request_trace(
    host: str, port: int, duration_ms: int, folder: str, session: str, levels: tuple[int, int, int]
) -> None:
    """Let a server record what its process runs and write it: ``folder/session/*.xplane.pb``, on its machine.

    Args:
      levels: of tracing on the host, on devices and of Python.
    Raises:
      OSError: there is no server, or it does not answer.
      RuntimeError: it answers that it failed.
    """
    on_host, on_devices, of_python = levels
    options = b"".join([
        _field(5, 1), _field(2, on_host), _field(3, on_devices), _field(4, of_python), _field(7, 1), _field(9, duration_ms)
    ])  # fmt: skip
    request = b"".join([
        _field(1, duration_ms), _field(4, options), _field(5, folder.encode()), _field(6, session.encode()),
        _field(7, host.encode()),
    ])  # fmt: skip
    try:
        with socket.create_connection((host, port), timeout=duration_ms / 1000 + _PATIENCE) as connection:
            status = _call(connection, host, "/tensorflow.ProfilerService/Profile", request)
    except OSError as error:
        raise OSError(f"collect_profile: no profiler server answers at {host}:{port}: {error}") from error
    if status != "0":
        raise RuntimeError(f"collect_profile: the profiler server at {host}:{port} failed: {status}")


# ---- protocol buffers --------------------------------------------------------------------------------------------------


def _field(number: int, value: int | bytes) -> bytes:
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    return _varint(number << 3 | 2) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    found = bytearray()
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    return bytes([*found, value])


# ---- HTTP/2 ------------------------------------------------------------------------------------------------------------


def _call(connection: socket.socket, host: str, path: str, message: bytes) -> str:
    """Make a call and wait for its end; the status: "0", or another one with a text."""
    headers = [
        (":method", "POST"), (":scheme", "http"), (":path", path), (":authority", host),
        ("content-type", "application/grpc"), ("te", "trailers"),
    ]  # fmt: skip
    connection.sendall(
        _PREFACE
        + _frame(_SETTINGS, 0, 0, struct.pack(">HI", 4, _LARGEST_WINDOW))  # what a stream may send
        + _frame(_WINDOW, 0, 0, struct.pack(">I", _LARGEST_WINDOW - 65_535))  # what all may send
        + _frame(_HEADERS, _END_OF_HEADERS, _STREAM, b"".join(_header(*each) for each in headers))
        + _frame(_DATA, _END_OF_STREAM, _STREAM, b"\0" + struct.pack(">I", len(message)) + message)
    )
    while True:
        kind, flags, stream, payload = _read_frame(connection)
        if kind in (_SETTINGS, _PING) and not flags & _ACKNOWLEDGED:
            connection.sendall(_frame(kind, _ACKNOWLEDGED, 0, payload if kind == _PING else b""))
        elif kind in (_RESET, _GO_AWAY):
            raise OSError("the server has ended the call")
        elif stream == _STREAM and flags & _END_OF_STREAM:
            return _status(payload) if kind == _HEADERS else "0"


def _frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def _header(name: str, value: str) -> bytes:
    """A header that no table keeps, in plain characters."""
    return b"\x10" + bytes([len(name)]) + name.encode() + bytes([len(value)]) + value.encode()


def _read_frame(connection: socket.socket) -> tuple[int, int, int, bytes]:
    head = _read(connection, 9)
    return head[3], head[4], int.from_bytes(head[5:], "big"), _read(connection, int.from_bytes(head[:3], "big"))


def _read(connection: socket.socket, count: int) -> bytes:
    found = b""
    while len(found) < count:
        piece = connection.recv(count - len(found))
        if not piece:
            raise OSError("the server has closed the connection")
        found += piece
    return found


def _status(trailers: bytes) -> str:
    """The status of a call and its message, which servers write in plain characters."""
    found = []
    for name in (b"grpc-status", b"grpc-message"):
        index = trailers.find(name)
        if index >= 0:
            start = index + len(name)
            found.append(trailers[start + 1 : start + 1 + (trailers[start] & 127)].decode(errors="replace"))
    return ": ".join(found) or "unknown"
