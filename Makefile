.DEFAULT_GOAL := help
.PHONY: help setup native demo test lint format wheel web gpu-test bench cases scaling micro stability fidelity overhead kernel-times launches barrier-order validation clean browser screenshots

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# The python of .venv, or else the environment's, where cuvein was installed as a wheel.
WITH_CUVEIN = python=$(BIN)/python; [ -x $$python ] || python=python3; \
  $$python -c 'import cuvein' 2> /dev/null || { echo "make $@: $$python has no cuvein; run 'make setup' or install the wheel" >&2; exit 1; }; \
  $$python
LOG := $(VENV)/native.log

help: ## Show this help
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# The environment is remade when the requirements change, not every time.
$(VENV)/.ready: pyproject.toml cmake/requirements.py
	@echo "making $(VENV): downloads compilers and tools from PyPI, 0.9 GB once installed"
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q --disable-pip-version-check --upgrade "pip>=25.1"
	$(BIN)/python cmake/requirements.py > $(VENV)/build-requirements.txt
	$(BIN)/python -m pip install -q -r $(VENV)/build-requirements.txt --group dev
	$(BIN)/python -m pip install -q --no-build-isolation -Cwheel.cmake=false -e .
	touch $@

setup: $(VENV)/.ready native ## Make .venv with everything, build the native parts, install cuvein into it (editable)

native: $(VENV)/.ready # the libraries and the patches, into src/cuvein/_native
	@test -d build/native || echo "building the native parts for the first time, which takes a while"
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/cmake -S . -B build/native -G Ninja -DPython_EXECUTABLE="$(CURDIR)/$(BIN)/python" --log-level=WARNING > $(LOG) 2>&1 || (cat $(LOG); exit 1)
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/cmake --build build/native > $(LOG) 2>&1 || (cat $(LOG); exit 1)
	@$(BIN)/cmake --install build/native --prefix src > /dev/null
	@rm -f $(LOG)

demo: setup ## Profile an example (or replay its recording where there is no GPU) and print the report
	$(BIN)/cuvein demo --output build/demo

# The tests of the browser report need a browser. Where it cannot be had they are skipped, with the reason.
browser:
	@command -v chromium > /dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null || exit 0; \
	  mkdir -p build; apt-get install -qq -y --no-install-recommends chromium > build/browser.log 2>&1 \
	  || { apt-get update -qq && apt-get install -qq -y --no-install-recommends chromium; } >> build/browser.log 2>&1 \
	  || echo "chromium cannot be installed, so the browser tests will be skipped; see build/browser.log"; }

test: setup browser ## Run the tests that need no GPU
	$(BIN)/pytest --ignore=tests/gpu

lint: setup ## Check style and types: ruff, mypy --strict, clang-format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	git ls-files 'native/*.h' 'native/*.cpp' 'native/*.cu' 'native/*.cuh' 'examples/*.cu' 'tests/*.cu' 'tests/*.cpp' 'tests/*.h' 'benchmarks/*.cu' 'benchmarks/*.h' 'examples/*.h' | xargs $(BIN)/clang-format --dry-run -Werror

format: setup ## Rewrite the sources in the project's style
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .
	git ls-files 'native/*.h' 'native/*.cpp' 'native/*.cu' 'native/*.cuh' 'examples/*.cu' 'tests/*.cu' 'tests/*.cpp' 'tests/*.h' 'benchmarks/*.cu' 'benchmarks/*.h' 'examples/*.h' | xargs $(BIN)/clang-format -i

wheel: $(VENV)/.ready ## Build the wheel into dist/
	$(BIN)/python -m pip wheel -q --no-deps --no-build-isolation -w dist .

gpu-test: ## Run the tests that need a GPU (uses the environment's python3 when .venv is absent)
	tests/gpu/run

bench: setup ## Run the benchmarks that need no GPU; prints JSON
	$(BIN)/python benchmarks/analyzer.py

scaling: ## How the analysis scales: host engine with workers, GPU engine with size where there is a GPU
	@$(WITH_CUVEIN) benchmarks/scaling.py && { ! command -v nvidia-smi > /dev/null || $$python benchmarks/scaling.py --engine gpu; }

cases: ## Repeat the case studies in docs/cases.md; needs a GPU and ncu (uses the environment's python3 when .venv is absent)
	@$(WITH_CUVEIN) benchmarks/cases.py

web: ## Rebuild the browser report's page, which is committed; needs Node 20 and npm
	@$(WITH_CUVEIN) -m cuvein.report.view_schema > web/src/schema.json.part
	@mv web/src/schema.json.part web/src/schema.json
	cd web && npm ci --no-audit --no-fund && npm run build

screenshots: setup browser ## Make the pictures of the browser report anew, from the recordings in tests/golden
	$(BIN)/python tests/web/screenshots.py

micro: ## Compare microbenchmarks with their derived graphs, both engines; needs a GPU
	@$(WITH_CUVEIN) benchmarks/micro

stability: ## How much label distributions differ from run to run and between the engines; needs a GPU
	@$(WITH_CUVEIN) benchmarks/stability.py

fidelity: ## Compare counts with hardware counters (docs/validation.md); needs a GPU, ncu and network
	@$(WITH_CUVEIN) benchmarks/fidelity.py

overhead: ## Time whole programs with and without cuvein (docs/validation.md); needs an idle GPU and network
	@$(WITH_CUVEIN) benchmarks/overhead.py

kernel-times: ## Time kernels on the GPU engine over empty callbacks (docs/validation.md); needs an idle GPU
	@$(WITH_CUVEIN) benchmarks/kernel_times.py

launches: ## Time launches of small kernels with and without cuvein (docs/validation.md); needs an idle GPU
	@$(WITH_CUVEIN) benchmarks/launches.py

barrier-order: ## Time --barrier-order on against off (docs/validation.md); needs an idle GPU
	@$(WITH_CUVEIN) benchmarks/barrier_order.py

validation: setup ## Make docs/validation.md of the results that are there
	$(BIN)/python benchmarks/validation.py

clean: ## Remove everything that was built
	rm -rf build dist $(VENV) src/cuvein/_native
