# `make` alone lists the targets. Works with GNU make 3.81 or newer, on Linux and macOS.
#   PYTHON=python3.12          which Python makes the environment (3.11 or newer)
#   PIP_EXTRA_INDEX=URL        one more package index, e.g. PyTorch's for CPU-only builds
#   CHAPTER=search/scores   one chapter (book, notebooks, pdf)
#   WORKERS=2                  test processes
#   JOBS=2                     chapters executed at a time (book, notebooks)
SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help probes reproduce test-slurm book html pdf notebooks test check bench lint lab wheel browser screenshots clean distclean venv grid
.DELETE_ON_ERROR:

VENV := .venv
PY := $(VENV)/bin/python
DONE := $(VENV)/.installed
GRID := $(VENV)/.grid-installed
WORKERS ?= 2
quoted = '$(subst ','\'',$(1))'
CHAPTERS = $(foreach c,$(CHAPTER),--chapter $(call quoted,$(c)))
# One thread a process: the tests run in several, and a figure should not depend on the number of cores.
TEST_ENV := OMP_NUM_THREADS=1 TQDM_DISABLE=1 MPLBACKEND=agg PYTHONHASHSEED=0
PYTEST = $(TEST_ENV) $(PY) -m pytest -q -n $(WORKERS)

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

book: $(DONE) ## execute the chapters that changed, then build the pages (_build/html/index.html)
	$(PY) scripts/build_book.py book $(CHAPTERS) $(if $(JOBS),--jobs $(call quoted,$(JOBS)))

html: $(DONE) ## build the pages from the committed outputs, without executing
	$(PY) scripts/build_book.py html

pdf: browser ## print the pages into one PDF (_build/book.pdf) [CHAPTER=name], with Chromium or Chrome
	$(PY) scripts/pdf.py $(CHAPTERS)

notebooks: $(DONE) ## execute changed chapters and refresh their committed outputs [CHAPTER=name]
	$(PY) scripts/build_book.py notebooks $(CHAPTERS) $(if $(JOBS),--jobs $(call quoted,$(JOBS)))

test: lint browser ## everything: lint, unit tests, notebooks at smoke scale, pages in a browser, wheel
	$(PYTEST) tests

check: lint ## the fast lane: lint and unit tests
	$(PYTEST) tests --ignore=tests/book -m "not slow"

bench: $(DONE) ## speed as ratios, against twins and peers measured in the same run
	OMP_NUM_THREADS=1 $(PY) -m benchmarks

probes: $(DONE) ## ask the models of runs on scenes what a linear map reads from them [KEYS="92b1… 0c4f…"]
	@OMP_NUM_THREADS=1 $(PY) scripts/probe_runs.py $(foreach k,$(or $(KEYS),$(error probes: which runs? KEYS=)),$(call quoted,$k))

# What a page has parameters for is given to icr itself: icr train reproduce/tables -p dataset=coco -p features=folder
reproduce: $(if $(PLAN),$(DONE),$(GRID)) ## train the runs that a page lacks, by Snakemake [PAGE=reproduce/tables PROFILE=slurm PLAN=1]
	$(PY) -m icrlib train $(call quoted,$(or $(PAGE),reproduce/tables)) \
	  $(if $(PLAN),--plan,--profile $(call quoted,$(or $(PROFILE),local)))

test-slurm: $(GRID) ## a page's runs on a real Slurm, set up on this machine's loopback and stopped again (root, Debian)
	timeout -k 60 1800 $(PY) scripts/slurm_on_loopback.py

lint: $(DONE)
	$(PY) -m ruff check . && $(PY) -m ruff format --check .

browser: $(DONE)
	@$(PY) scripts/browser.py

lab: $(DONE) ## open the chapters in JupyterLab
	$(PY) -m jupyter lab book

wheel: $(DONE) ## build dist/icrlib-*.whl
	rm -rf build
	$(PY) -m pip wheel -q --no-deps --no-build-isolation -w dist .

screenshots: $(DONE) ## pictures of the built pages, desktop and phone (_build/screenshots)
	$(PY) scripts/screenshots.py

clean: ## remove what was built; runs/ and the environment stay
	rm -rf _build build dist *.egg-info .pytest_cache .ruff_cache .hypothesis

distclean: clean ## remove the environment too
	rm -rf $(VENV)

venv: $(DONE) ## only set up .venv

grid: $(GRID) ## add Snakemake and its Slurm plugin to .venv

# The mark is written last, so an interrupted installation is not taken for a finished one. A pip that was
# killed (its own mark is still there) may have left half a package: then the environment is made afresh.
$(DONE): requirements.txt requirements-no-deps.txt pyproject.toml setup.py
	@set -e; ok='import sys, ensurepip; sys.exit(sys.version_info < (3, 11))'; found=; \
	if ! $(PY) -c "$$ok" >/dev/null 2>&1 || ! $(PY) -m pip --version >/dev/null 2>&1 || [ -e $(VENV)/.installing ]; then \
	  for p in $(or $(PYTHON),python3 python3.13 python3.12 python3.11 python3.14 python); do \
	    if $$p -c "$$ok" >/dev/null 2>&1; then found=$$p; break; fi; done; \
	  if [ -z "$$found" ]; then echo "No Python 3.11 or newer with venv was found$(if $(PYTHON), as $(PYTHON))." \
	    "Install one (Debian, Ubuntu: apt-get install python3 python3-venv), or say which: make PYTHON=/path/to/python3.12" >&2; \
	    exit 1; fi; \
	  echo "making $(VENV) with $$($$found --version)"; $$found -m venv --clear $(VENV); fi
	@touch $(VENV)/.installing
	@$(PY) -m pip install $(if $(PIP_EXTRA_INDEX),--extra-index-url $(PIP_EXTRA_INDEX)) -r requirements.txt \
	  && $(PY) -m pip install --no-deps -r requirements-no-deps.txt \
	  && $(PY) -m pip install --no-deps --no-build-isolation -e . \
	  || { rm -f $(VENV)/.installing; echo "The installation failed; see above. Run make again to go on." >&2; exit 1; }
	@rm -f $(VENV)/.installing
	@touch $@

# Into the same environment, held to the versions that are pinned for everything else.
$(GRID): $(DONE)
	@echo "adding Snakemake and its Slurm plugin to $(VENV)"
	@$(PY) -m pip install -q --no-build-isolation $(if $(PIP_EXTRA_INDEX),--extra-index-url $(PIP_EXTRA_INDEX)) \
	  -c requirements.txt -e '.[grid]' \
	  || { echo "The installation failed; see above. Run make again to go on." >&2; exit 1; }
	@touch $@
