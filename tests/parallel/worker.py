"""The process that runs the tests of this folder: reads names of tests, one per line, and answers with their results."""

import contextlib
import io
import json
import os
import sys

import pytest

answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # what tests print is no answer

for line in sys.stdin:
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        options = ["-q", "-x", "--no-header", "-p", "no:cacheprovider", "-p", "no:xdist", "--tb=short"]
        status = pytest.main([*options, json.loads(line)])
    answers.write(json.dumps([status == 0, said.getvalue()]) + "\n")
    answers.flush()
os._exit(0)
