"""Breakpoints and bars in a notebook, where its packages are installed."""

import os
import sys

import pytest

jupyter_client = pytest.importorskip("jupyter_client")
pytest.importorskip("ipykernel")


@pytest.fixture(scope="module")
def cell():
    """Runs a cell with lines for its prompts; gives all that it shows."""
    manager = jupyter_client.KernelManager()
    manager.kernel_cmd = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    manager.start_kernel(env=dict(os.environ))
    client = manager.client()
    client.start_channels()
    client.wait_for_ready(timeout=60)

    def run(code, *lines):
        waiting, shown = list(lines), []

        def note(message):
            content = message["content"]
            if message["msg_type"] == "stream":
                shown.append(content["text"])
            elif message["msg_type"] == "error":
                shown.append(content["ename"])
            elif "data" in content:
                shown.append(content["data"]["text/plain"])

        def answer(message):
            client.input(waiting.pop(0))

        client.execute_interactive(code, output_hook=note, stdin_hook=answer, allow_stdin=True, timeout=60)
        assert not waiting
        return "".join(shown)

    run("import arrax, arrax.numpy as jnp\nfrom arrax import lax")
    run("def f(x):\n    y = x @ x\n    arrax.debug.breakpoint()\n    return y.sum()")
    yield run
    client.stop_channels()
    manager.shutdown_kernel(now=True)


@pytest.mark.parametrize("size", [2, 1200])  # the larger one runs on another thread
def test_the_prompt_reads_from_the_cell(cell, size):
    shown = cell(f"arrax.jit(f)(jnp.ones(({size}, {size})))", "p y.shape", "w", "c")
    assert (
        f"({size}, {size})" in shown
        and "in <module>\n    arrax.jit(f)" in shown
        and "    arrax.debug.breakpoint()" in shown
    )
    assert "ipykernel_launcher" not in shown


def test_quitting_ends_the_cell_and_not_the_notebook(cell):
    assert "SystemExit" in cell("arrax.jit(f)(jnp.ones((2, 2)))", "q")
    assert cell("print(arrax.jit(lambda x: x + 1)(1))") == "2\n"


@pytest.mark.parametrize("style", ["text", "tqdm", "rich"])
def test_bars(cell, style):
    if style != "text":
        pytest.importorskip(style)
    body = f"arrax.debug.progress(lambda i, x: x + i, 'adding', style='{style}', delay=0)"
    shown = cell(f"print(lax.fori_loop(0, 1000, {body}, 0))")
    assert "499500" in shown
    if style != "rich":  # which shows nothing without widgets
        assert "adding: 100%" in shown
