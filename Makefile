# Two commands do everything: `make run` and `make test`. Each installs what it needs into .venv
# and does nothing twice: the stamps below change only with pyproject.toml or constraints.txt.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
PINS := pyproject.toml constraints.txt

.PHONY: run serve test coverage check format test-slow test-clients test-web mutants docs release-check bench clean help

run: $(VENV)/.run       ## install, then start Reverie
	@if [ -t 0 ] && [ -t 1 ]; then $(BIN)/reverie chat; else $(BIN)/reverie --help; fi
	@echo "From here on: $(BIN)/reverie (or \`. $(BIN)/activate\`, then \`reverie\`)"

serve: $(VENV)/.server  ## install, then start the memory service on an embedded PostgreSQL
	@$(BIN)/reverie serve

test: $(VENV)/.dev      ## install what tests need, then run them
	@$(BIN)/python -m pytest -n 2 --dist loadfile

coverage: $(VENV)/.dev  ## the same tests, and which lines they reach; a third slower
	@$(BIN)/python -m pytest -n 2 --dist loadfile --cov --cov-report=term

check: $(VENV)/.dev $(if $(shell command -v npm),.clients/.pyright) ## lint, formatting, types (also of the examples in docs/), architecture
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/python tests/flows/check_snippets.py
	@$(BIN)/lint-imports

format: $(VENV)/.dev    ## put the code in house style
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

test-slow: $(VENV)/.fuzz ## suites that take minutes, with a coverage-guided fuzzer
	@$(BIN)/python -m pytest -m slow

test-clients: $(VENV)/.clients .clients/.installed ## real coding agents and SDKs; installs npm packages
	@PATH="$(CURDIR)/.clients/node_modules/.bin:$$PATH" $(BIN)/python -m pytest -m clients -n 2

test-web: $(VENV)/.browser .clients/.axe ## the page in a real Chromium
	@command -v chromium > /dev/null || { echo "make test-web needs Chromium (Debian: apt-get install chromium)" >&2; exit 1; }
	@$(BIN)/python -m pytest --no-cov -m web tests/web

mutants: $(VENV)/.dev   ## break decisions in a sample of places, and see whether a test fails; minutes
	@$(BIN)/python benchmarks/mutants.py

docs: $(VENV)/.dev      ## write what the walk, the tour and the demo print, and the references, into docs/ and README.md
	@$(BIN)/python scripts/reference.py
	@-WRITE_TOUR=1 $(BIN)/python -m pytest --no-cov tests/flows/test_tour.py
	@WALK_WITHOUT_CLAUDE=1 $(BIN)/python scripts/walk.py --write
	@WRITE_DEMO=1 $(BIN)/python -m pytest --no-cov tests/cli/test_demo.py -k Documentation

release-check:          ## build, install in fresh environments, use it there; writes dist/
	@$(PYTHON) scripts/release_check.py

bench: $(VENV)/.dev     ## every benchmark, one after the other
	@for script in benchmarks/*.py; do echo "== $$script"; $(BIN)/python $$script || exit 1; done

clean:                  ## remove what the other targets made
	rm -rf $(VENV) .clients .mypy_cache .ruff_cache .import_linter_cache .coverage build dist

help:                   ## this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*##/\t/'

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Reverie needs Python 3.11 or newer; $(PYTHON) is older. Try: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) || \
		{ rm -rf $(VENV); echo "Could not make $(VENV). On Debian or Ubuntu: apt-get install python3-venv" >&2; exit 1; }

$(VENV)/.run: $(PINS) | $(BIN)/python
	@echo "Installing Reverie into $(VENV) …"
	@$(PIP) install -c constraints.txt -e '.[all]'
	@touch $@

$(VENV)/.dev: $(PINS) | $(BIN)/python
	@echo "Installing Reverie and its test tools into $(VENV) …"
	@$(PIP) install -c constraints.txt -e '.[dev]'
	@touch $@ $(VENV)/.run

$(VENV)/.server: $(VENV)/.run
	@$(PIP) install -c constraints.txt -e '.[all,server]'
	@touch $@

$(VENV)/.fuzz: $(VENV)/.dev
	@$(PIP) install -c constraints.txt -e '.[fuzz]' || echo "atheris has no wheel for this Python: its runs are skipped" >&2
	@touch $@

$(VENV)/.clients: $(VENV)/.dev
	@$(PIP) install -c constraints.txt -e '.[clients]'
	@touch $@

$(VENV)/.browser: $(VENV)/.dev
	@$(PIP) install -c constraints.txt -e '.[browser]'
	@touch $@

.clients/.pyright:
	@mkdir -p .clients/pyright
	@npm install --prefix .clients/pyright --no-save --no-package-lock --no-audit --no-fund --silent pyright@1.1.414
	@touch $@

.clients/.axe:
	@command -v npm > /dev/null || { echo "make test-web needs npm (Debian: apt-get install npm)" >&2; exit 1; }
	@mkdir -p .clients
	@npm install --prefix .clients --no-save --no-package-lock --no-audit --no-fund --silent axe-core@4.14.0
	@touch $@

.clients/.installed: tests/real_clients/package.json tests/real_clients/older/package.json
	@command -v npm > /dev/null || { echo "make test-clients needs npm (Debian: apt-get install npm)" >&2; exit 1; }
	@echo "Installing coding agents into .clients (about 1.5 GB) …"
	@mkdir -p .clients/older && cp tests/real_clients/package.json .clients/ && cp tests/real_clients/older/package.json .clients/older/
	@for place in .clients .clients/older; do npm install --prefix $$place --no-package-lock --no-audit --no-fund --silent || exit 1; done
	@touch $@
