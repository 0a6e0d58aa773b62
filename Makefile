# What a contributor and a first user need. ARGS goes to the command: make serve ARGS="--port 9000"

.DEFAULT_GOAL := help
.PHONY: help setup serve test coverage check docs lock bench clean

VENV := .venv
PYTHON_IN := $(VENV)/bin/python
STAMP := $(VENV)/.installed
JS := tests/clients/js
JS_STAMP := $(JS)/node_modules/.package-lock.json

help:  ## List the targets.
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20

setup: $(STAMP)  ## Create .venv and install everything into it.

# pyproject.toml is here for the entry point and the package list; the rest is the lock.
$(STAMP): requirements/cpu.txt requirements/dev.txt pyproject.toml scripts/setup
	@scripts/setup
	@touch $@

serve: setup  ## Serve the default model on 127.0.0.1:8000, or another: ARGS="MODEL".
	@$(VENV)/bin/strictcall serve $(ARGS)

test: setup js  ## Run all tests, the real engine and the SDKs included.
	@$(PYTHON_IN) -m pytest -m 'not engine' -n auto --dist worksteal $(ARGS) $(MAY_BE_NONE)
	@$(PYTHON_IN) -m pytest -m engine $(ARGS) $(MAY_BE_NONE)

# Pytest's 5 means that it found no test, which is right for one of the two where ARGS names some tests.
MAY_BE_NONE = $(if $(ARGS),|| [ $$? -eq 5 ])

coverage: setup js  ## Run all tests and hold the floors: parsers 100 %, server 95 %.
	@$(PYTHON_IN) -m coverage erase
	@$(PYTHON_IN) -m coverage run -m pytest $(ARGS)
	@$(PYTHON_IN) -m coverage combine --quiet
	@$(PYTHON_IN) -m coverage report --include='parsers/*' --fail-under=100
	@$(PYTHON_IN) -m coverage report --include='server/*' --fail-under=95

check: setup lock  ## Lint, format, types, import rules, project rules, dead links, tables, lock.
	@$(VENV)/bin/ruff check .
	@$(VENV)/bin/ruff format --check .
	@$(VENV)/bin/mypy
	@$(PYTHON_IN) scripts/check_links.py
	@$(PYTHON_IN) scripts/docs_tables.py
	@$(PYTHON_IN) -m pytest -q tests/test_imports.py tests/test_project.py

docs: setup  ## Write the tables of the documentation anew from the code.
	@$(PYTHON_IN) scripts/docs_tables.py --write

lock: setup  ## Check the lock against pyproject.toml and against what is installed.
	@$(PYTHON_IN) scripts/check_lock.py

# Some files are there for the others, serve.py needs what only vLLM's own server imports, and says what, and
# hostile.py takes a quarter of an hour.
APART := reader scripted_server serve hostile hostile_schemas heavy_schemas
BENCHES := $(filter-out $(APART:%=benchmarks/%.py),$(wildcard benchmarks/*.py))

bench: setup  ## Run the comparisons in benchmarks/, but for serve.py and hostile.py.
	@set -e; for file in $(BENCHES); do echo "== $$file"; $(PYTHON_IN) "$$file" $(ARGS); done

# What checks deployments is no part of the product, and has a lock and an environment of its own.
DEPLOY := .venv-deploy
DEPLOY_STAMP := $(DEPLOY)/.installed
.PHONY: deploy-check manifests release-check

$(DEPLOY_STAMP): requirements/deploy.txt $(STAMP)
	@echo "== the tools of requirements/deploy.txt"
	@$(PYTHON_IN) -m venv --clear $(DEPLOY)
	@$(DEPLOY)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps -r requirements/deploy.txt
	@touch $@

deploy-check: $(DEPLOY_STAMP)  ## Check what deploys: images, compose, Helm, manifests, rules, dashboard.
	@$(DEPLOY)/bin/python -m scripts.deploy.check
	@$(PYTHON_IN) -m pytest -q tests/deploy

manifests: $(DEPLOY_STAMP)  ## Write the dashboard from its panels, and deploy/kubernetes from the chart.
	@$(DEPLOY)/bin/python -m scripts.deploy.dashboard --write
	@$(DEPLOY)/bin/python -m scripts.deploy.manifests --write

# The audit asks PyPI's advisory database, and fails where it cannot: what was not audited was not found good.
release-check: $(DEPLOY_STAMP)  ## Write dist/sbom.json of what is locked, and audit it for known faults.
	@mkdir -p dist
	@$(DEPLOY)/bin/cyclonedx-py requirements requirements/cpu.txt --pyproject pyproject.toml --output-reproducible -o dist/sbom.json
	@$(DEPLOY)/bin/pip-audit --strict --disable-pip --no-deps -r requirements/cpu.txt

clean:  ## Remove .venv, caches and builds.
	rm -rf $(VENV) $(DEPLOY) build dist $(JS)/node_modules .coverage .coverage.* .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The tests of the JavaScript SDK run where Node is present, and say so where they are skipped.
.PHONY: js
ifeq ($(shell command -v npm),)
js:
	@echo "== no npm here: the tests of the JavaScript SDK will be skipped"
else
js: $(JS_STAMP)

$(JS_STAMP): $(JS)/package.json $(JS)/package-lock.json
	@echo "== the JavaScript SDK"
	@npm --prefix $(JS) ci --no-audit --no-fund --silent
	@touch $@
endif
