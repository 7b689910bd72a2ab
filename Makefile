# make demo, make test: all that a fresh clone needs is Python >= 3.11, make and a package index.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/pip install --quiet --disable-pip-version-check --constraint requirements.lock

.PHONY: demo test lint bench clean

demo: .venv/installed
	$(BIN)/policymix demo

test: lint
	$(BIN)/pytest --numprocesses 2

lint: .venv/installed-dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/basedpyright

bench: .venv/installed-dev
	$(BIN)/python benchmarks/sources.py
	$(BIN)/python benchmarks/lander_step.py

clean:
	rm -rf .venv

.venv/installed: requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "policymix needs Python 3.11 or newer: make PYTHON=python3.11 ...")'
	$(PYTHON) -m venv .venv
	$(PIP) --editable .
	touch $@

.venv/installed-dev: .venv/installed
	$(PIP) --editable '.[dev,box2d,sb3,mujoco,minari,tensorboard]'
	touch $@
