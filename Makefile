# Two commands do all the set-up: `make demo` and `make test`. Both create .venv themselves and run again quickly.
PYTHON ?= python3
VENV   ?= .venv
BIN     = $(VENV)/bin
READY   = $(VENV)/.ready

.PHONY: demo test bench docs dist lint format fuzz clean

demo: $(READY)            ## our three losses against scikit-learn on data that ships with it
	$(BIN)/suffice demo

test: $(READY) lint       ## everything: lint, types, properties, oracles, doctests
	$(BIN)/python -m pytest -n 2 --dist worksteal

bench: $(READY)           ## us and the peers in one run: make bench, or make bench NAME=text
	$(BIN)/python -m benchmarks $(NAME)

docs: $(VENV)/.docs       ## the site: docs/_build/html; every example runs, every warning is an error, every link inside is checked
	OMP_NUM_THREADS=1 MPLBACKEND=agg $(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	$(BIN)/python tools/check_site.py docs/_build/html

dist: $(READY)            ## source archive and wheel in dist/; the wheel is tried in an environment of its own
	$(BIN)/python -m pip install --constraint constraints.txt -q build
	rm -rf dist && $(BIN)/python -m build --outdir dist .
	$(BIN)/python tools/check_wheel.py dist/*.whl

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

$(READY): pyproject.toml constraints.txt
	@echo "creating $(VENV) (once; a minute or two)"
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade --constraint constraints.txt pip
	$(BIN)/python -m pip install --constraint constraints.txt --editable ".[dev]" --progress-bar on -q
	@touch $(READY)

$(VENV)/.docs: $(READY)
	$(BIN)/python -m pip install --constraint constraints.txt --editable ".[dev,docs]" -q
	@touch $(VENV)/.docs

fuzz: $(READY)            ## 200,000 fuzzed inputs (make test has a short version)
	SUFFICE_FUZZ=200 $(BIN)/python -m pytest -n 2 --dist worksteal tests/test_fuzz.py tests/test_fuzz_topic.py tests/test_storage.py tests/test_files.py

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache build dist docs/_build docs/gallery docs/reference/generated
