# Everything runs in .venv, which the first target that needs it sets up: a fresh machine needs only Python and make.
# Paths are relative throughout, so a checkout whose path has spaces in it works too.

PYTHON ?= python3
ARGS :=
N := 20000
SEED :=
ONLY :=
PYTHONS = $(PYTHON)
VENV := .venv
BIN := $(VENV)/bin
RUNTIME := $(VENV)/.runtime-installed
DEV := $(VENV)/.dev-installed

export PIP_DISABLE_PIP_VERSION_CHECK := 1
# The theme prints a long notice about its own future unless told not to.
export NO_MKDOCS_2_WARNING := 1

.DEFAULT_GOAL := help
.PHONY: help demo quick test test-all browser java check lists bench peers screenshots docs fuzz processors oldest audit wheel clean
# Two installations into one environment at once (make -j) would damage it.
.NOTPARALLEL:

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s  %s\n", $$1, $$2 }' Makefile

demo: $(RUNTIME) ## anonymize the shipped table and show every step
	@$(BIN)/shoal demo

# Kernels are compiled first, on all cores: no test waits for them while others keep the machine busy.
quick: $(DEV) ## run the tests that a change usually breaks: no browser, no Spark, nothing slow
	@$(BIN)/shoal cache warm --quiet
	@$(BIN)/pytest -q -n auto -m 'not (slow or exhaustive or spark or browser)' $(ARGS)

test: $(DEV) browser java ## run the tests that a release needs; choose some with ARGS='-k mondrian'
	@$(BIN)/shoal cache warm --quiet
	@$(BIN)/pytest -q -n auto -m 'not exhaustive' $(ARGS)

# The workflow runs it as a job of its own, beside the other two.
test-all: $(DEV) browser java ## run what make test leaves out: whole matrices, large tables, all cases on the cluster
	@$(BIN)/shoal cache warm --quiet
	@$(BIN)/pytest -q -n auto -m exhaustive $(ARGS)

browser:
	@tests/browser/install

java:
	@tests/engines/spark/install

check: $(DEV) ## style, types, import direction, documentation: all that CI asks besides the tests
	$(BIN)/ruff check --quiet .
	$(BIN)/ruff format --check --quiet .
	$(BIN)/mypy --no-error-summary
	$(BIN)/pytest -q tests/test_imports.py tests/test_repository.py tests/test_style.py
	$(BIN)/mkdocs build --quiet --strict

# After an algorithm, a model or a loss was added, or a public name or an option changed.
lists: $(DEV) ## write what follows from the code: public names, help, reference pages, catalogues, README, navigation
	@$(BIN)/python docs/make_lists.py
	@$(BIN)/python docs/make_cli.py
	@$(BIN)/python docs/make_api.py
	@$(BIN)/python docs/make_languages.py
	@$(BIN)/python tests/packaging/public.py

# Benchmarks never run side by side: each would be the other's noise.
bench: $(DEV) ## measure everything that the documentation quotes, into out/benchmarks.md; some of it with ONLY=import,report
	@$(BIN)/python benchmarks/run.py $(ONLY)

# The programs are named by variables, which the page lists; cells that are filled already are kept.
peers: $(DEV) ## run Shoal beside other programs and write docs/peers.md; more with ARGS='--table cup'
	@$(BIN)/python -m benchmarks.peers --page docs/peers.md $(ARGS)

# SEED=4711 shows one case; counts are kept, so that a run that was broken off goes on.
fuzz: $(DEV) ## attack with random cases, N=20000 of them; larger ones with FAMILY=large, people with FAMILY=people; one again with SEED=4711
	@PYTHONPATH=. $(BIN)/python -m tests.robustness.fuzz --family $(or $(FAMILY),small) \
	  $(if $(SEED),--seed $(SEED),--count $(N) --log out/fuzz-$(or $(FAMILY),small).json)

# Long: the three folders once for every variant, and kernels compiled for two of them.
processors: $(DEV) ## the golden, contract and documentation tests as on other processors; some of them with ARGS='plain'
	@$(BIN)/python -m tests.processors $(ARGS)

screenshots: $(DEV) browser ## draw the pictures of the studio in docs/studio anew
	@$(BIN)/python docs/make_screenshots.py

oldest: | $(BIN)/pip ## run a part of the tests with the oldest dependencies that are permitted
	@$(BIN)/python tests/dependencies/oldest.py out/oldest

audit: $(DEV) ## ask the public database for known weaknesses of what is installed
	@$(BIN)/python -m pip install -qq 'pip-audit>=2.7'
	@$(BIN)/python -m pip_audit --local --skip-editable

docs: $(DEV) ## build the documentation into site/
	@$(BIN)/mkdocs build --quiet --strict
	@echo "The documentation is in site/index.html; while writing, use $(BIN)/mkdocs serve."

# PYTHONS are the interpreters to try it with, for example: make wheel PYTHONS='python3.11 python3.13'
# The wheel carries the kernels, compiled for any processor of this kind; the source package does not.
wheel: $(DEV) ## build the packages into dist/, install the wheel into an empty environment without compilers, use it
	@rm -rf dist
	@$(BIN)/shoal cache warm
	@SHOAL_KERNELS="$$($(BIN)/python -c 'from shoal.kernels.store import Store; print(Store().folder)')" \
		$(BIN)/python -m hatchling build -d dist
	@$(BIN)/python tests/packaging/installed.py dist/shoal-*.whl $(PYTHONS)

clean: ## remove caches and built files; .venv and out/ stay
	@rm -rf site dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
	@find src tests benchmarks -type d -name __pycache__ -prune -exec rm -rf {} +

# The stamps are renewed when the dependencies may have changed, and only then. With -qq pip reports errors alone.
$(RUNTIME): pyproject.toml | $(BIN)/pip
	@echo "Installing Shoal into $(VENV) ..."
	@begin=$$(date +%s); $(BIN)/python -m pip install -qq --editable . && echo "That took $$(($$(date +%s) - begin)) s."
	@touch $@

$(DEV): pyproject.toml | $(BIN)/pip
	@echo "Installing Shoal and its development tools into $(VENV) ..."
	@$(BIN)/python -m pip install -qq --editable '.[dev]'
	@$(BIN)/python -m pip install -qq --no-deps 'pycanon==1.3.6'  # its own pins would hold numpy and pandas back
	@touch $(RUNTIME) $@

# pip is the last thing that venv puts in place, so a set-up that was broken off begins again.
$(BIN)/pip:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
		echo "'$(PYTHON)' is not Python 3.11 or newer; name one that is, for example: make demo PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
		echo "'$(PYTHON)' comes without venv; install it first (on Debian and Ubuntu the package is python3-venv)" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV)
