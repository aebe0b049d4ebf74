# Everything runs in a virtual environment ($(VENV)); PYTHON chooses the interpreter it is made with.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
ROOMS := app graph nodes knowledge measure backends sketch

.PHONY: demo install dev test lint types format bench clean

demo: install  ## optimise three examples and print a table
	@$(BIN)/pragma demo

install: $(VENV)/.installed  ## the project alone

dev: $(VENV)/.installed-dev  ## with the tools for tests, linting and LangGraph Studio

test: dev  ## every test
	@$(BIN)/python -m pytest $(PYTEST_ARGS)

lint: dev
	@$(BIN)/ruff check . && $(BIN)/ruff format --check .

types: dev
	@$(BIN)/mypy

format: dev
	@$(BIN)/ruff check --fix . && $(BIN)/ruff format .

bench: dev  ## milliseconds of orchestration for each attempt (target: below 50)
	@$(BIN)/python -m benchmarks.orchestration

clean:
	@rm -rf $(VENV) build dist *.egg-info

$(BIN)/python:
	@echo "making a virtual environment in $(VENV)"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --upgrade pip

$(VENV)/.installed: pyproject.toml | $(BIN)/python
	@echo "installing (a minute or two)"
	@$(BIN)/python -m pip install -qq --disable-pip-version-check -e .
	@touch $@

$(VENV)/.installed-dev: pyproject.toml | $(BIN)/python
	@echo "installing with development tools (a minute or two)"
	@$(BIN)/python -m pip install -qq --disable-pip-version-check -e '.[dev]'
	@touch $@ $(VENV)/.installed
