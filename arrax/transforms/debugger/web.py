"""The prompt of a breakpoint as a page in the browser, for programs whose terminal is elsewhere or taken."""

from __future__ import annotations

import contextlib
import functools
import json
import queue
import secrets
import sys
import threading
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import IO, Any, cast
from urllib.parse import parse_qs, urlsplit

from arrax.transforms.debugger.frames import Frame
from arrax.transforms.debugger.prompt import Prompt

_POLL = 20.0  # seconds after which the page asks again for what has been written
_PAGE = """<!doctype html><meta charset="utf-8"><title>breakpoint</title><link rel="icon" href="data:,">
<style>body{font:14px monospace;margin:1em}#out{white-space:pre-wrap}input{font:inherit;width:95%;border:1px solid #999}</style>
<div id="out"></div><form id="form"><input id="line" autofocus autocomplete="off" placeholder="p x, where, up, c, q"></form>
<script>
const out = document.getElementById("out"), line = document.getElementById("line"), past = [];
let place = 0, seen = 0;
async function listen() {
  try {
    const answer = await (await fetch("output?from=" + seen)).json();
    out.textContent += answer.text; seen = answer.end; window.scrollTo(0, document.body.scrollHeight);
    setTimeout(listen, 0);
  } catch { out.textContent += "\\n[the program has ended]\\n"; }
}
document.getElementById("form").onsubmit = async event => {
  event.preventDefault(); const text = line.value; line.value = ""; past.push(text); place = past.length;
  await fetch("input", {method: "POST", body: text});
};
line.onkeydown = event => {
  if (event.key == "ArrowUp" && place > 0) line.value = past[--place];
  if (event.key == "ArrowDown" && place < past.length) line.value = past[++place] ?? "";
};
listen();
</script>"""


class Console:
    """A page with an input line; a pair of text streams for Python. Its address holds a secret, as it runs what it is told."""

    def __init__(self, host: str, port: int) -> None:
        self.secret = secrets.token_urlsafe(16)
        self.given: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.text, self.changed = "", threading.Condition()
        handler = type("Handler", (_Handler,), {"console": self})
        self.server = ThreadingHTTPServer((host, port), handler)
        self.server.daemon_threads = True
        self.address = f"http://{host}:{self.server.server_address[1]}/{self.secret}/"
        threading.Thread(target=self.server.serve_forever, daemon=True, name="arrax-breakpoint-page").start()

    def write(self, text: str) -> int:
        """Show a text on the page."""
        with self.changed:
            self.text += text
            self.changed.notify_all()
        return len(text)

    def flush(self) -> None:
        """Nothing waits to be written."""

    def readline(self) -> str:
        """The next line that somebody enters on the page."""
        line = self.given.get()
        self.write(line)
        return line

    def after(self, seen: int) -> str:
        """What is written after some characters, as soon as there is anything; an empty text after a while."""
        with self.changed:
            self.changed.wait_for(lambda: len(self.text) > seen, _POLL)
            return self.text[seen:]


class _Handler(BaseHTTPRequestHandler):
    console: Console

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        if parts.path == f"/{self.console.secret}/":
            self._answer("text/html; charset=utf-8", _PAGE)
        elif parts.path == f"/{self.console.secret}/output":
            seen = int(parse_qs(parts.query).get("from", ["0"])[0])
            text = self.console.after(seen)
            self._answer("application/json", json.dumps({"text": text, "end": seen + len(text)}))
        else:
            self.send_error(404)

    def do_POST(self) -> None:
        if self.path != f"/{self.console.secret}/input":
            self.send_error(404)
            return
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        self.console.given.put(body.split("\n")[0] + "\n")
        self._answer("text/plain", "")

    def _answer(self, kind: str, text: str) -> None:
        data = text.encode()
        with contextlib.suppress(ConnectionError):  # the page was closed
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@functools.lru_cache
def console_at(host: str, port: int) -> Console:
    """The console of this process at an address; it stays from one breakpoint to the next."""
    return Console(host, port)


class WebPrompt(Prompt):
    """A prompt on a page, whose address is printed.

    Args:
      host: interface that the page is served at.
      port: its port; 0 for any that is free.
    """

    def __init__(self, frames: Sequence[Frame], host: str = "127.0.0.1", port: int = 0) -> None:
        self.console = console_at(host, port)
        streams = cast("IO[str]", self.console)
        super().__init__(frames, stdin=streams, stdout=streams)

    def run(self) -> None:
        print(f"Breakpoint: open {self.console.address}", file=sys.stdout, flush=True)
        super().run()

    def _finished(self) -> bool:
        """Run commands until one resumes the program. Ctrl-C comes from elsewhere, the terminal, and ends it."""
        self.cmdloop()
        return True
