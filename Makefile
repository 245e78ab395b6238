# Each target sets up what it needs, once: a virtual environment in .venv, beside it one per special purpose.
#
#   make help          this list, as plain make
#   make demo          train a small network on handwritten digits
#   make test          all tests (TESTS=tests/lax narrows, WORKERS=4 sets how many processes)
#   make test-newest   the tests on the newest Python here, with the newest jaxlib for it
#   make conformance   the array API standard's conformance suite on arrax.numpy (ARRAY_API_TESTS=/path/to/checkout)
#   make ecosystem     the tests of libraries written for JAX, with arrax and with JAX (LIBRARIES="chex flax" narrows,
#                      ECOSYSTEM=/path/to/checkouts)
#   make fuzz          random NumPy expressions against NumPy, then random compositions against themselves (MINUTES=60)
#   make docs          build the documentation as a site, in docs/_build/html
#   make docs-numpy    rewrite docs/numpy.md, the status of each NumPy function
#   make lint types    ruff, mypy
#   make bench         side by side with the reference implementation (BENCH="eager staging" narrows)
#   make calibrate     measure from which sizes on the CPU's own forms of operations pay on this machine
#   make plot-numpy    put the results of the benchmarks into the README: a picture and a table
#   make clean         remove environments and caches
#
# PYTHON=/path/to/python chooses the interpreter for .venv.

.DEFAULT_GOAL := help
.PHONY: help demo test test-newest conformance ecosystem fuzz docs docs-numpy lint types bench calibrate plot-numpy clean

VENV := .venv
BIN := $(VENV)/bin
WORKERS ?= auto
TESTS ?= tests
BENCH ?=
LIBRARIES ?=
CONFORMANCE ?= --max-examples 50
MINUTES ?= 60

# The first of the candidates that runs and is new enough: version managers leave stubs that only print an error.
first_of = $(shell for python in $(1); do \
  "$$python" -c 'import sys, venv; sys.exit(sys.version_info < $(2))' 2>/dev/null && command -v "$$python" && break; done)

PYTHON ?= $(call first_of,python3 python3.13 python3.12 python3.11,(3, 11))
NEWEST_PYTHON ?= $(call first_of,\
  python3.14 python3.13 python3.12 python3 $(wildcard $(HOME)/.pyenv/versions/3.1[2-9].*/bin/python3),(3, 12))
REFERENCE := jax==0.10.2

help:
	@sed -n 's/^#   //p' Makefile

demo: $(VENV)/ready-demo
	$(BIN)/python examples/digits.py

test: $(VENV)/ready-test
	$(BIN)/python -m pytest -q -n $(WORKERS) $(TESTS)

conformance: $(VENV)/ready-conformance
	$(BIN)/python -m tests.conformance.suite $(CONFORMANCE)

ecosystem: .venv-ecosystem/ready .venv-ecosystem-jax/ready
	.venv-ecosystem/bin/python -m tests.ecosystem.suites $(LIBRARIES) --reference .venv-ecosystem-jax/bin/python

fuzz: $(VENV)/ready-test
	$(BIN)/python -m tests.numpy_api.agreement.fuzz --minutes $(MINUTES); numpy=$$?; \
	$(BIN)/python -m tests.compositions.fuzz --minutes $(MINUTES) && exit $$numpy

docs: $(VENV)/ready-docs
	$(BIN)/python -m sphinx -W -n --keep-going -q -j auto -b html docs docs/_build/html

docs-numpy: $(VENV)/ready-test
	$(BIN)/python -m docs.numpy_status

lint: $(VENV)/ready-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/ready-dev
	$(BIN)/mypy

bench: $(VENV)/ready-demo .venv-reference/ready
	$(BIN)/python -m benchmarks $(BENCH) --reference .venv-reference/bin/python

calibrate: $(VENV)/ready-demo
	$(BIN)/python -m benchmarks.calibrate

plot-numpy: $(VENV)/ready-demo
	$(BIN)/python -m benchmarks.plot_numpy

test-newest:
	@newest="$(NEWEST_PYTHON)"; if [ -n "$$newest" ]; then \
	  $(MAKE) test VENV=.venv-newest PYTHON="$$newest"; \
	else \
	  echo "No Python 3.12 or newer here: the tests with the newest jaxlib are skipped."; \
	fi

clean:
	rm -rf .venv .venv-* .ecosystem build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis docs/_build docs/api docs/figures examples/output
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "arrax needs Python 3.11 or newer: make PYTHON=/path/to/python"; exit 1; }
	$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); exit 1; }

$(VENV)/ready-%: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[$*]'
	$(BIN)/python -m compileall -q arrax  # which editable installations leave to each process that may write
	@touch $@

.venv-ecosystem/ready .venv-ecosystem-jax/ready: tests/ecosystem/beside.txt tests/ecosystem/libraries.txt
	@test -n "$(PYTHON)" || { echo "this needs Python 3.11 or newer: make PYTHON=/path/to/python"; exit 1; }
	$(PYTHON) -m venv --clear $(@D)
	$(@D)/bin/python -m pip install --quiet --disable-pip-version-check -r tests/ecosystem/beside.txt $(if $(findstring -jax,$@),'$(REFERENCE)')
	$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps -r tests/ecosystem/libraries.txt
	@touch $@

.venv-reference/ready:
	@test -n "$(PYTHON)" || { echo "the reference needs Python 3.11 or newer: make PYTHON=/path/to/python"; exit 1; }
	$(PYTHON) -m venv --clear .venv-reference
	.venv-reference/bin/python -m pip install --quiet --disable-pip-version-check '$(REFERENCE)'
	@touch $@
