# Every target makes its own environment: nothing has to be installed by hand except Python 3.11.
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: help demo test check docs audits comparison coverage input-checks accuracy copula-accuracy marginals-accuracy central-comparators marginals-benchmark owners-benchmark hpdp-accuracy hpdp-other-tables hpdp-numbers hpdp-benchmark benchmark secure-benchmark alignment-benchmark wide-area-benchmark faults cost-model results microaggregation-benchmark allocation-benchmark clean

help:
	@echo "make demo       set up, run a two-party release on made-up data and show it"
	@echo "make test       set up, then lint, types and tests"
	@echo "make check      ruff and mypy alone"
	@echo "make docs       the documentation site, into build/docs/site: opens offline, and can be searched"
	@echo "make comparison  every mechanism and a trivial baseline in all scores on four tables, written to docs/results/comparison.md (needs ADULT)"
	@echo "make accuracy   classification accuracy of Adult and Nursery releases (needs ADULT=folder with the data)"
	@echo "make coverage   how often intervals read from releases hold the truth, written into docs/results (needs ADULT=folder with the data)"
	@echo "make copula-accuracy  distances of Adult and Wine copula releases (needs ADULT=folder with the data)"
	@echo "make marginals-accuracy  prediction and two-way tables of marginals releases of four tables (needs ADULT=folder with the data)"
	@echo "make central-comparators  AIM and MST of one curator beside marginals, on Adult (needs ADULT; hours; builds .venv-central)"
	@echo "make hpdp-accuracy    classification accuracy of Adult hpdp releases (needs ADULT=folder with the data)"
	@echo "make hpdp-other-tables  the same on tables and a class that hpdp was not tuned on (needs ADULT=folder with the data)"
	@echo "make hpdp-numbers  what hpdp and copula releases of made-up tables keep of amounts, counts and durations"
	@echo "make owners-benchmark  secure releases of Adult that 2, 3, 5 and 10 owners hold, by columns and at random cells"
	@echo "make hpdp-benchmark   a secure hpdp release of Adult between ten owners, beside the published Paillier way"
	@echo "make allocation-benchmark  what dividing the budget by information gain is worth on Adult"
	@echo "make benchmark  time and memory of a release beside the bare NumPy work"
	@echo "make wide-area-benchmark  a secure release between two hosts 40 ms apart (needs root)"
	@echo "make results    the papers' figures beside what they print, written into the pages of docs/results"
	@echo "make secure-benchmark  the secure engine beside its bare calls and the papers' Paillier way"
	@echo "make marginals-benchmark  secure releases of synthetic records: time, traffic and memory (needs ADULT; root for the link)"
	@echo "make input-checks  what checking every owner's inputs costs a secure release (needs ADULT=folder with the data)"
	@echo "make alignment-benchmark  private set intersection beside the bare call and plain sets; people of five owners"
	@echo "make microaggregation-benchmark  one iDP-IR release, a grid of 50 runs, and up to 5 million records"
	@echo "make faults     break runs on purpose and write what is left of them to docs/faults.md (root, Linux)"
	@echo "make audits     audits of every mechanism and of broken ones, written into docs/audit.md (two hours; AUDITS passes options)"
	@echo "make cost-model        coefficients of the cost model that 'copublish plan' uses"

$(READY): pyproject.toml reproduction/pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt \
	  --editable '.[dev]' --editable ./reproduction
	touch $@

demo: $(READY)
	$(BIN)/copublish demo demo --force

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test: check
	$(BIN)/pytest

# Everything is checked on the way: menus, links, notebooks. Pictures are drawn anew by `python -m website.pictures`.
docs: $(READY)
	$(BIN)/python -m website

ADULT ?= ../shared/data
accuracy: $(READY)
	$(BIN)/python benchmarks/accuracy.py --data $(ADULT)

coverage: $(READY)
	$(BIN)/python benchmarks/interval_coverage.py --data $(ADULT) --runs 50 --out docs/results/coverage.md

# 20 minutes of one core. COMPARISON passes options: --table heart --runs 2
COMPARISON ?=
comparison: $(READY)
	$(BIN)/python benchmarks/comparison.py --data $(ADULT) --page docs/results/comparison.md $(COMPARISON)

copula-accuracy: $(READY)
	$(BIN)/python benchmarks/copula_accuracy.py --data $(ADULT)

marginals-accuracy: $(READY)
	$(BIN)/python benchmarks/marginals_accuracy.py --data $(ADULT)

hpdp-accuracy: $(READY)
	$(BIN)/python benchmarks/hpdp_accuracy.py --data $(ADULT)

hpdp-other-tables: $(READY)
	$(BIN)/python benchmarks/hpdp_other_tables.py --data $(ADULT)

hpdp-numbers: $(READY)
	$(BIN)/python benchmarks/hpdp_numbers.py

input-checks: $(READY)
	$(BIN)/python benchmarks/input_checks.py --data $(ADULT)

# dpmm wants other versions than copublish, so it has an environment of its own. COMPARE passes options: --runs 1 --epsilon 1
CENTRAL := .venv-central
COMPARE ?=
$(CENTRAL)/.ready: benchmarks/central_requirements.txt
	$(PYTHON) -m venv $(CENTRAL)
	$(CENTRAL)/bin/python -m pip install --quiet --disable-pip-version-check --requirement $<
	touch $@

central-comparators: $(READY) $(CENTRAL)/.ready
	$(BIN)/python benchmarks/central_comparators.py --data $(ADULT) --python $(CENTRAL)/bin/python $(COMPARE)

marginals-benchmark: $(READY)
	PYTHONPATH=tests $(BIN)/python benchmarks/marginals_release.py --data $(ADULT)

owners-benchmark: $(READY)
	$(BIN)/python benchmarks/many_owners.py --data $(ADULT)

hpdp-benchmark: $(READY)
	$(BIN)/python benchmarks/hpdp_release.py --data $(ADULT)

allocation-benchmark: $(READY)
	$(BIN)/python benchmarks/allocation.py --data $(ADULT)

benchmark: $(READY)
	$(BIN)/python benchmarks/release_speed.py --data $(ADULT)

secure-benchmark: $(READY)
	$(BIN)/python benchmarks/secure_release.py --data $(ADULT)

alignment-benchmark: $(READY)
	$(BIN)/python benchmarks/alignment.py
	$(BIN)/python benchmarks/alignment_of_many.py

microaggregation-benchmark: $(READY)
	$(BIN)/python benchmarks/microaggregation.py --data $(ADULT)

faults: $(READY)
	PYTHONPATH=tests $(BIN)/python benchmarks/faults.py

# All of it, or what AUDITS says: make audits AUDITS="--parts broken"
AUDITS ?=
audits: $(READY)
	PYTHONPATH=tests $(BIN)/python benchmarks/audits.py --write docs/audit.md $(AUDITS)

cost-model: $(READY)
	$(BIN)/python benchmarks/cost_model.py

wide-area-benchmark: $(READY)
	$(BIN)/python benchmarks/wide_area.py --data $(ADULT)

# All of the pages, or the parts that RESULTS names: make results RESULTS="vhdp-fig5 vhdp-findings"
RESULTS ?= all
results: $(READY)
	for name in $(RESULTS); do \
	  $(BIN)/copublish reproduce $$name --data $(ADULT) --out docs/results --pages docs/results || exit 1; done

clean:
	rm -rf $(VENV) $(CENTRAL) demo
