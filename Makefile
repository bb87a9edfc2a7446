# Two commands are all a newcomer needs: `make demo` and `make test`. Both set everything up first, in .venv.
VENV := .venv
BIN := $(VENV)/bin
PYTHON ?= python3
READY := $(VENV)/.ready
PIP := PIP_CONSTRAINT=constraints.txt $(BIN)/pip install --quiet --disable-pip-version-check

.PHONY: setup demo test quick lint weights docs clean

setup: $(READY)

# torch comes first and alone, so that the pinned (where the index offers it: CPU-only) build is what all others see.
$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(PIP) torch==2.13.0
	$(PIP) --editable '.[dev]'
	touch $(READY)

# A paragraph of "On the Origin of Species", from raw text to trees, with the model in the package.
demo: setup
	$(BIN)/g2g parse examples/paragraph.txt -o paragraph.conllu
	$(BIN)/g2g draw paragraph.conllu
	$(BIN)/g2g draw paragraph.conllu --sent-id 2 -f svg -o paragraph.svg
	@echo "All of it in CoNLL-U: paragraph.conllu; the second sentence as a picture: paragraph.svg"

# Style, types, layers, dead code, code written twice.
lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/vulture
	$(BIN)/pylint src

# The encoders that tests use, fetched once; without them (no network) those tests are skipped and say so.
weights: .weights/minilm-l6 .weights/mpnet-base

.weights/%: | $(READY)
	-$(BIN)/python experiments/encoders.py $*

PYTEST := OMP_NUM_THREADS=1 $(BIN)/pytest -n auto

# All tests.
test: lint weights
	$(PYTEST)

# What to run before every commit: all but the tests that take over a second.
quick: setup
	$(PYTEST) -m 'not slow'

# The site: guide, command line, API, results. A dead link is an error, but not with --quiet, which hides it from --strict.
docs: setup
	$(BIN)/mkdocs build --strict

clean:
	rm -rf $(VENV) site .mypy_cache .ruff_cache .pytest_cache dist
