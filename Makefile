# make demo and make test need python3 >= 3.11 with pip and venv, nothing else: they build .venv themselves.
PYTHON ?= python3
VENV ?= .venv
JOBS ?= 2

BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: demo test test-all lint bench install clean

demo: $(STAMP)
	@$(BIN)/python examples/demo.py

test: $(STAMP)
	$(BIN)/python -m pytest -n $(JOBS) -m "not slow"

test-all: $(STAMP)
	$(BIN)/python -m pytest -n $(JOBS)

lint: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(STAMP)
	@for file in benchmarks/bench_*.py; do \
	  echo "== $$file"; $(BIN)/python "$$file" || exit 1; done

install: $(STAMP)

clean:
	rm -rf $(VENV)

$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "make: $(PYTHON) is missing or older than 3.11; name another one: make PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' || { \
	  echo "make: $(PYTHON) lacks venv or ensurepip; on Debian and Ubuntu: apt install python3-venv" >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing into $(VENV) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@
