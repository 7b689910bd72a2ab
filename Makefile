# make demo, make test, make test-docs, make docs: all that a fresh clone needs is Python >= 3.11, make and a package index.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/pip install --quiet --disable-pip-version-check --constraint requirements.lock

.PHONY: demo test test-docs lint docs bench clean

demo: .venv/installed
	$(BIN)/policymix demo

test: lint
	$(BIN)/pytest --numprocesses 2 -m 'not shown'

test-docs: .venv/installed-dev
	$(BIN)/pytest --numprocesses 2 -m shown

lint: .venv/installed-dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/basedpyright

docs: .venv/installed-docs
	rm -rf docs/_build
	$(BIN)/sphinx-build --quiet --fail-on-warning --keep-going docs docs/_build/html
	$(BIN)/python docs/check_links.py docs/_build/html
	@echo 'open docs/_build/html/index.html'

bench: .venv/installed-dev
	$(BIN)/python benchmarks/sources.py
	$(BIN)/python benchmarks/lander_step.py
	$(BIN)/python benchmarks/against_sb3.py

clean:
	rm -rf .venv docs/_build

.venv/installed: requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "policymix needs Python 3.11 or newer: make PYTHON=python3.11 ...")'
	$(PYTHON) -m venv .venv
	$(PIP) --editable .
	touch $@

.venv/installed-dev: .venv/installed
	$(PIP) --editable '.[dev,docs,box2d,sb3,mujoco,mjx,minari,tensorboard]'
	touch $@

.venv/installed-docs: .venv/installed
	$(PIP) --editable '.[docs]'
	touch $@
