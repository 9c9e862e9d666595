# Every target makes its own environment: nothing has to be installed by hand except Python 3.11.
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
SECURE := $(VENV)/.secure
READY := $(VENV)/.ready

.PHONY: help demo test check quick fuzz mutations docs benchmarks comparison coverage faults audits central-comparators results requirements-image clean

help:
	@echo "make demo        set up, run a two-party release on made-up data and show it"
	@echo "make test        set up, then lint, types and tests"
	@echo "make check       ruff, import contracts and mypy"
	@echo "make quick       mypy and the unit tests that are not marked slow: less than a minute"
	@echo "make fuzz        search at random for examples that fail, ten times as many as in a test run. Options:"
	@echo "                   FUZZ=tests/unit/agreement        the tests of a folder or a file"
	@echo "                   SEED=7                           a search again; each prints its seed"
	@echo "make mutations   put faults into copies of the source and see that tests notice: before a release, some minutes"
	@echo "make docs        the documentation site, into build/docs/site: opens offline, and can be searched"
	@echo "make benchmarks  all benchmarks one after another into docs/benchmarks.md; some take hours, some need root. Options:"
	@echo "                   ADULT=folder                     with Adult and the other public tables"
	@echo "                   BENCHMARKS='--most-minutes 5'    leave out what takes longer"
	@echo "                   BENCHMARKS='--only accuracy'     some of them; --help lists their names, -- passes options on"
	@echo "                   BENCHMARKS='--short'             on tiny made-up tables: that they run; nothing is kept"
	@echo "make benchmark-NAME  the same as --only NAME: make benchmark-secure_release"
	@echo "make comparison coverage faults audits  those of them that write pages of their own"
	@echo "make central-comparators  AIM and MST of one curator beside marginals, on Adult (hours; builds .venv-central)"
	@echo "make requirements-image  the image's libraries with hashes, after a change of constraints.txt"
	@echo "make results     the papers' figures beside what they print, written into the pages of docs/results"

INSTALL = $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

# What those who publish need: the program with its secure engine, and the page.
$(SECURE): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) --editable '.[secure,studio]'
	touch $@

# What those who develop need besides: test tools, Spark, Ray, the documentation's tools, the papers' reproduction.
$(READY): $(SECURE) reproduction/pyproject.toml
	$(INSTALL) --editable '.[dev]' --editable ./reproduction
	touch $@

# The libraries of the image with hashes, for the platform on which this runs.
requirements-image: $(SECURE)
	$(BIN)/python tests/support/requirements_image.py > $@.new
	mv $@.new $@.txt

demo: $(SECURE)
	$(BIN)/copublish demo demo --force

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-cache --no-logo
	$(BIN)/mypy

# Files are handed out in the order of `testpaths`. More processes than cores, since many tests wait.
PYTEST = $(BIN)/pytest --dist loadfile --no-loadscope-reorder
test: check
	$(PYTEST) -n 4

quick: $(READY)
	$(BIN)/mypy
	$(PYTEST) -n 2 -m "not slow" tests/unit

FUZZ ?= tests reproduction/tests
fuzz: $(READY)
	@seed=$${SEED:-$$(date +%s)}; echo "Again: make fuzz SEED=$$seed FUZZ='$(FUZZ)'"; \
	  $(PYTEST) -n 2 -m hypothesis --hypothesis-profile fuzz --hypothesis-seed "$$seed" $(FUZZ)

mutations: $(READY)
	$(BIN)/python tests/mutations.py

# Everything is checked on the way: menus, links, notebooks. Pictures are drawn anew by `python -m website.pictures`.
docs: $(READY)
	$(BIN)/python -m website

ADULT ?= ../shared/data
BENCHMARKS ?=
RUN_BENCHMARKS = $(BIN)/python benchmarks/run_all.py --data $(ADULT)
benchmarks: $(READY)
	$(RUN_BENCHMARKS) $(BENCHMARKS)

benchmark-%: $(READY)
	$(RUN_BENCHMARKS) --only $* $(BENCHMARKS)

comparison faults audits: %: benchmark-%
coverage: benchmark-interval_coverage

# dpmm wants other versions than copublish, so it has an environment of its own. COMPARE passes options: --runs 1 --epsilon 1
CENTRAL := .venv-central
COMPARE ?=
$(CENTRAL)/.ready: benchmarks/central_requirements.txt
	$(PYTHON) -m venv $(CENTRAL)
	$(CENTRAL)/bin/python -m pip install --quiet --disable-pip-version-check --requirement $<
	touch $@

central-comparators: $(READY) $(CENTRAL)/.ready
	$(BIN)/python benchmarks/central_comparators.py --data $(ADULT) --python $(CENTRAL)/bin/python $(COMPARE)

# All of the pages, or the parts that RESULTS names: make results RESULTS="vhdp-fig5 vhdp-findings"
RESULTS ?= all
results: $(READY)
	for name in $(RESULTS); do \
	  $(BIN)/copublish reproduce $$name --data $(ADULT) --out docs/results --pages docs/results || exit 1; done

clean:
	rm -rf $(VENV) $(CENTRAL) demo
