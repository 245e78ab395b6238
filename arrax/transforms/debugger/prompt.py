"""The prompt of a breakpoint: commands over its frames, in a terminal, a notebook, or any pair of text streams."""

from __future__ import annotations

import cmd
import contextlib
import pprint
import re
import sys
import threading
import traceback
from collections.abc import Callable, Sequence
from typing import IO, Any

from arrax.transforms.debugger.frames import Frame

_TAKE_ARGUMENTS = ("p", "pp", "u", "up", "d", "down", "l", "list", "help")
_ASSIGNS = re.compile(r"\w+\s*[^\w\s(]*=")  # also one that compares
_AROUND = 5  # lines of code shown before and after the frame's own
_lock = threading.RLock()  # one prompt at a time


class Prompt(cmd.Cmd):
    """Reads commands and runs them, over frames given innermost first.

    Args:
      stdin, stdout: streams; those of the process, with its keys for editing, where they are None.
      completekey: the key that completes names, where the terminal can.
    """

    prompt = "(jdb) "
    doc_header = "Commands (help NAME tells more; anything else is evaluated):"

    def __init__(
        self,
        frames: Sequence[Frame],
        stdin: IO[str] | None = None,
        stdout: IO[str] | None = None,
        completekey: str = "tab",
    ) -> None:
        super().__init__(completekey=completekey, stdin=stdin, stdout=stdout if stdout is not None else sys.stdout)
        self.use_rawinput = stdin is None and stdout is None
        self.frames, self.index = list(frames), 0

    def run(self) -> None:
        """Read commands until one resumes the program.

        Raises:
          SystemExit: one ends it.
        """
        with _lock:
            self._say("Entering jdb:")
            while not self._finished():
                pass

    def _finished(self) -> bool:
        """Run commands until one resumes the program; False after Ctrl-C, which only leaves the current command."""
        try:
            self.cmdloop()
        except KeyboardInterrupt:
            self._say("\n--KeyboardInterrupt-- (c resumes the program, q ends it)")
            return False
        return True

    # ---- what commands need ----------------------------------------------------------------------------------------

    @property
    def frame(self) -> Frame:
        return self.frames[self.index]

    def _say(self, text: str) -> None:
        if text:
            print(text, file=self.stdout, flush=True)

    def _names(self) -> dict[str, Any]:
        return {**self.frame.globals, **self.frame.variables}

    def _evaluate(self, text: str, show: Callable[[Any], str]) -> None:
        if not text.strip():
            self._say("*** an expression is missing")
            return
        try:
            with contextlib.redirect_stdout(self.stdout):
                shown = show(eval(text, self._names()))
        except Exception as error:
            self._fail(error)
        else:
            self._say(shown)

    def _fail(self, error: Exception) -> None:
        told = traceback.TracebackException(type(error), error, None)
        told.__notes__ = None  # which stand behind the message, several lines of them
        self._say("*** " + list(told.format_exception_only())[-1].strip())

    def _show_code(self, around: int) -> None:
        self._say(f"> {self.frame.file}({self.frame.line}){self.frame.name}()")
        for number, text in self.frame.source(around):
            self._say(f"{'->' if number == self.frame.line else '  '} {number:4} {text}".rstrip())

    def _move(self, text: str, step: int, end: str) -> None:
        try:
            count = int(text) if text.strip() else 1
        except ValueError:
            self._say(f"*** a number of frames is wanted, got {text!r}")
            return
        wanted = self.index + step * count
        self.index = min(max(wanted, 0), len(self.frames) - 1)
        if wanted != self.index:
            self._say(end)
        self._show_code(2)

    # ---- commands --------------------------------------------------------------------------------------------------

    def parseline(self, line: str) -> tuple[str | None, str | None, str]:
        """Commands are told from Python by what follows: ``c`` resumes, ``c = 1``, ``c + 1``, ``c.shape`` and ``!c`` are Python."""
        text = line.strip()
        command, argument, parsed = super().parseline(text)
        if text.startswith("!"):
            return None, None, text[1:].lstrip()
        if command and argument:
            follows = parsed[len(command)].isspace() or argument.startswith("(")
            if command not in _TAKE_ARGUMENTS or not follows or _ASSIGNS.match(text):
                return None, None, text
        return command, argument, parsed

    def default(self, line: str) -> None:
        """Evaluate an expression, or run a statement: names that it binds belong to the frame from then on."""
        try:
            compile(line, "<jdb>", "eval")
        except SyntaxError:
            self._execute(line)
        else:
            self._evaluate(line, lambda value: "" if value is None else repr(value))

    def _execute(self, line: str) -> None:
        names = self._names()
        before = dict(names)
        try:
            with contextlib.redirect_stdout(self.stdout):
                exec(compile(line + "\n", "<jdb>", "single"), names)
        except Exception as error:
            self._fail(error)
        changed = {name: value for name, value in names.items() if name not in before or before[name] is not value}
        changed.pop("__builtins__", None)
        self.frame.variables.update(changed)

    def completenames(self, text: str, *ignored: Any) -> list[str]:
        names = (*self.frame.variables, *self.frame.globals)
        return [*super().completenames(text, *ignored), *(name for name in names if name.startswith(text))]

    def completedefault(self, text: str, *ignored: Any) -> list[str]:
        return [name for name in (*self.frame.variables, *self.frame.globals) if name.startswith(text)]

    def do_p(self, text: str) -> None:
        """p EXPRESSION: evaluate it in the frame and print the result."""
        self._evaluate(text, repr)

    def do_pp(self, text: str) -> None:
        """pp EXPRESSION: evaluate it in the frame and print the result over several lines."""
        self._evaluate(text, pprint.pformat)

    def do_up(self, text: str) -> None:
        """u(p) [COUNT]: go to the frame that has called this one."""
        self._move(text, 1, "At topmost frame.")

    def do_down(self, text: str) -> None:
        """d(own) [COUNT]: go to the frame that this one has called."""
        self._move(text, -1, "At bottommost frame.")

    def do_where(self, text: str) -> None:
        """w(here), bt: print the frames, the innermost last; an arrow marks the one that commands look at."""
        self._say("Traceback:")
        for index in reversed(range(len(self.frames))):
            frame = self.frames[index]
            self._say(f'{"->" if index == self.index else "  "}File "{frame.file}", line {frame.line}, in {frame.name}')
            for _, code in frame.source(0):
                self._say(f"    {code.strip()}")

    def do_list(self, text: str) -> None:
        """l(ist): print the code around the frame's line."""
        self._show_code(_AROUND)

    def do_vars(self, text: str) -> None:
        """vars: print the names of the frame's variables, with what they hold in short."""
        for name, value in sorted(self.frame.variables.items()):
            if not name.startswith("__"):
                self._say(f"{name}: {_in_short(value)}")

    def do_cont(self, text: str) -> bool:
        """c(ont(inue)): resume the program."""
        return True

    def do_quit(self, text: str) -> bool:
        """q(uit), exit, end of input: end the program (SystemExit)."""
        raise SystemExit(0)

    do_u, do_d, do_w, do_bt, do_l = do_up, do_down, do_where, do_where, do_list
    do_c = do_continue = do_cont
    do_q = do_exit = do_EOF = do_quit


def _in_short(value: Any) -> str:
    aval = getattr(value, "aval", None)
    try:
        text = repr(value) if aval is None or not getattr(aval, "shape", ()) else aval.str_short(True)
    except Exception as error:  # of the user's class
        text = f"<{type(value).__name__}, which cannot be shown: {error}>"
    return text if len(text) <= 80 else text[:77] + "..."
