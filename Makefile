# Two commands do all the set-up: `make demo` and `make test`. Both create .venv themselves and run again quickly.
PYTHON ?= python3
VENV   ?= .venv
BIN     = $(VENV)/bin
READY   = $(VENV)/.ready

.PHONY: demo test properties bench docs dist lint format fuzz clean

demo: $(READY)            ## our three losses against scikit-learn on data that ships with it
	$(BIN)/suffice demo

test: $(READY)            ## everything: lint and types, and beside them properties, oracles, doctests
	$(MAKE) --jobs=2 lint properties

properties: $(READY)
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

COUNT ?= 20000
attack: $(READY)          ## numbers, inputs and forged files under bounds checks, signals, full disks; make attack COUNT=1000 for less
	cd tests && NUMBA_BOUNDSCHECK=1 OMP_NUM_THREADS=1 ../$(BIN)/python -m attack.storm --count $(COUNT)
	cd tests && NUMBA_BOUNDSCHECK=1 OMP_NUM_THREADS=1 ../$(BIN)/python -m attack.inputs --count $$((10 * $(COUNT)))
	cd tests && NUMBA_BOUNDSCHECK=1 OMP_NUM_THREADS=1 ../$(BIN)/python -m attack.forge --count $(COUNT)
	cd tests && NUMBA_BOUNDSCHECK=1 OMP_NUM_THREADS=1 ../$(BIN)/python -m attack.zips --count $(COUNT)
	cd tests && OMP_NUM_THREADS=1 ../$(BIN)/python -m attack.signals --count $$(($(COUNT) / 1000 + 1))
	cd tests && OMP_NUM_THREADS=1 ../$(BIN)/python -m attack.long_fits --count $$(($(COUNT) / 2000 + 1))

test-bounds: $(READY)     ## the suite with every access to an array checked (slow)
	NUMBA_BOUNDSCHECK=1 $(BIN)/python -m pytest -n 2 --dist worksteal tests

OLDEST = numpy==1.26.0 scipy==1.11.1 scikit-learn==1.6.0 numba==0.61.0 typing_extensions==4.4.0 narwhals==2.0.1 pandas==2.2.0 \
  rich==13.0.0 typer==0.15.4 pyarrow==15.0.0 dask==2025.1.0 distributed==2025.1.0 openpyxl==3.1.0 matplotlib==3.8.0 polars==1.20.0
test-oldest:              ## the suite with the oldest declared dependencies, in an environment of its own
	$(PYTHON) -m venv .venv-oldest
	.venv-oldest/bin/python -m pip install -q --editable ".[test]" $(OLDEST)
	NUMBA_CACHE_DIR=.venv-oldest/compiled .venv-oldest/bin/python -m pytest -n 2 --dist worksteal tests

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache build dist docs/_build docs/gallery docs/reference/generated
