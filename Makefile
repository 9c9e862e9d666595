# Every target makes its own environment: nothing has to be installed by hand except Python 3.11.
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

alignment-benchmark: $(READY)
	$(BIN)/python benchmarks/alignment.py
