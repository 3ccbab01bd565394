# Two commands matter: `make demo` and `make test`. Both make the environment first if it is missing or out of date.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

# Sets come in the same order in every process, as they do where notebooks are marked.
export PYTHONHASHSEED := 0
# Hundreds of processes import the same files: even where somebody wants none of it written, it is compiled once.
export PYTHONDONTWRITEBYTECODE :=
READY := $(VENV)/ready

.DEFAULT_GOAL := help
.PHONY: help demo test test-all test-engine test-course test-journeys check bench fuzz learn teach hub hub-clean dist \
    students mistakes notebooks corpus model offline translate say grow release site format lint clean empty-classroom \
    findings crossings

help: ## list these commands
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

$(READY): pyproject.toml transformer_exercises/pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(0 if (3, 11) <= sys.version_info[:2] < (3, 14) else "Python 3.11 to 3.13 is needed; this is %s. Say which one to use: make PYTHON=python3.12" % sys.version.split()[0])'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]" -e transformer_exercises
	touch $@

demo: $(READY) ## release the course, mark a made-up class, write feedback, print the marks, all in classroom/demo (five minutes)
	$(BIN)/autograder demo

WORKERS ?= 2
OPTIONS :=
PYTEST := $(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup --no-loadscope-reorder
NBVAL := $(BIN)/python -m pytest --nbval --nbval-sanitize-with tests/nbval.cfg -n 2 --dist loadfile

test: $(READY) ## test one variant of every mistake, every right answer, release, marking, cheats; run solutions by nbval, long trainings shortened
	$(PYTEST) tests/engine
	$(PYTEST) tests/course
	$(NBVAL) -p tests.short_trainings solutions --ignore-glob='*-further'

test-all: $(READY) ## test the rest too: every variant of every mistake, browser, hub, database, kills, trainings, optional notebooks
	$(PYTEST) --all tests
	$(NBVAL) solutions

# A part of the tests, for CI: make test-engine OPTIONS=--all
test-engine test-course test-journeys: test-%: $(READY)
	$(PYTEST) $(OPTIONS) tests/$*

check: lint ## check format, style, types and imports, and run the tests that are not slow (two minutes)
	$(PYTEST) -m "not slow" tests/engine tests/course

# Sentence pairs of your own, if there are any: make translate PAIRS=news/
PAIRS ?=
MINUTES ?= 10
# The languages, or the names of the columns, from and to; and the folder that keeps the translator
SOURCE ?= igbo
TARGET ?= english
OUT ?= translator-$(SOURCE)-$(TARGET)

bench: $(READY) ## measure what marking a class costs, of this course and of an ordinary one, beside stock nbgrader
	$(BIN)/python tools/benchmarks/grading.py
	$(BIN)/python tools/benchmarks/grading.py --quickstart

findings: ## run what guesses about other software got wrong, all or NAMES, and say what changed; it installs a lot
	@tools/run_findings.sh $(NAMES)

fuzz: MINUTES = 3
fuzz: $(READY) ## damage notebooks, sources, replies and markup at random for MINUTES; nothing may break
	end=$$(( $$(date +%s) + 60 * $(MINUTES) )); ulimit -v 12582912; \
	while [ $$(date +%s) -lt $$end ]; do HYPOTHESIS_PROFILE=fuzz $(PYTEST) -m hypothesis tests/engine || exit 1; done

learn: $(READY) ## learn alone: open a copy of the course that is yours, learn/, where each answer is marked at once
	$(BIN)/autograder learn

teach: $(READY) ## open JupyterLab with Formgrader at the instructor's guide
	$(BIN)/autograder teach

HUB_READY := $(VENV)/hub-ready
HUB ?= classroom/hub
PORT ?= 8000

$(HUB_READY): $(READY) tools/hub/requirements.txt tools/hub/constraints.txt tools/hub/package-lock.json
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r tools/hub/requirements.txt
	$(BIN)/python tools/hub/classroom.py --install
	touch $@

hub: $(HUB_READY) ## start a local classroom: JupyterHub, a teacher, three students (of NAMES, or of all notebooks)
	$(BIN)/python tools/hub/classroom.py $(NAMES) --folder $(HUB) --port $(PORT)

hub-clean: $(HUB_READY) ## remove the local classroom's users and files, after asking
	$(BIN)/python tools/hub/classroom.py --clean --folder $(HUB)

dist: $(READY) ## build two wheels into dist/: the engine and the course
	$(BIN)/python -m tools.dist

students: $(READY) ## write students.zip: the notebooks with their data, the start page, the environment; no solutions
	$(BIN)/autograder students

# Exercises or notebooks, if not all are meant: make mistakes NAMES="softmax 06-masking"
NAMES ?=

mistakes: $(READY) ## test the catalogued mistakes (of NAMES, or all); save their answers if each is caught, named and told apart
	$(BIN)/autograder try-mistakes $(NAMES)

notebooks: $(READY) ## run all solution notebooks, save their outputs, and release them
	$(BIN)/autograder run-solutions
	$(MAKE) release

corpus: $(READY) ## write the stories into the assignments' folders
	$(BIN)/python -m transformer_exercises.stories

model: $(READY) ## train the small GPT-2 that notebook 10 falls back to (about 20 minutes)
	$(BIN)/python -m tools.training.stories_gpt2

offline: $(READY) ## fetch a published model and word vectors for notebooks 01, 03 and 10 into offline/, once; optional (1 GB free)
	@$(BIN)/python -m tools.offline

translate: $(READY) ## train notebook 11's translator on PAIRS, from SOURCE to TARGET, for MINUTES; save it in OUT
	$(BIN)/python -m tools.training.translate $(PAIRS) --source $(SOURCE) --target $(TARGET) --minutes $(MINUTES) --out $(OUT)

# By the environment and not by $(TEXT): a sentence may hold quotation marks
export TEXT
say: $(READY) ## translate TEXT with the translator that make translate saved in OUT
	@$(BIN)/python tools/training/say.py --model $(OUT) "$$TEXT"

# A size of its table (.venv/bin/python -m tools.training.grow --list), if not the machine's usual one
SIZE ?=

grow: OUT =
grow: $(READY) ## train a GPT on the file TEXT (or on the stories) for MINUTES; save it in OUT (grown-NAME)
	@$(BIN)/python -m tools.training.grow $${TEXT:+"$$TEXT"} --minutes $(MINUTES) $(if $(SIZE),--size $(SIZE)) \
	    $(if $(OUT),--out "$(OUT)")

release: $(READY) ## tidy solutions/, generate course/, fill in the guides' minutes; refuse if somebody wrote in course/
	$(BIN)/autograder release
	$(BIN)/python -m tools.fill_guides

# The website's environment is its own, with a lock of its own: what builds pages marks nothing. REPOSITORY=owner/name, where
# the built site is published on GitHub, adds links that open a notebook on Colab or Binder.
SITE := .venv-site
REPOSITORY ?=

$(SITE)/ready: tools/website/requirements.txt tools/website/constraints.txt
	$(PYTHON) -m venv $(SITE)
	$(SITE)/bin/python -m pip install --quiet --disable-pip-version-check -r tools/website/requirements.txt
	touch $@

site: $(SITE)/ready ## build the website, website/build/html: course and guides (REPOSITORY=owner/name adds links to Colab, Binder)
	$(SITE)/bin/python -m tools.website.build $(if $(REPOSITORY),--repository $(REPOSITORY))

# The tools of other people that rewrite notebooks have an environment of their own, too.
CROSSINGS := .venv-crossings
CROSSINGS_IN := tools/crossings

$(CROSSINGS)/ready: $(CROSSINGS_IN)/requirements.txt $(CROSSINGS_IN)/constraints.txt $(CROSSINGS_IN)/package-lock.json
	$(PYTHON) -m venv $(CROSSINGS)
	$(CROSSINGS)/bin/python -m pip install --quiet --disable-pip-version-check -r $(CROSSINGS_IN)/requirements.txt
	npm ci --silent --no-audit --no-fund --prefix $(CROSSINGS_IN)
	touch $@

crossings: $(READY) $(CROSSINGS)/ready ## put right answers through tools that rewrite notebooks, mark them, say what changed; needs npm
	$(BIN)/python -m tools.crossings.cross $(OPTIONS)

format: $(READY) ## format the code
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

lint: $(READY) ## check format, style, types and imports
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

clean: ## remove what can be made again: environments, caches, the built website
	rm -rf $(VENV) $(VENV)-* website/build .pytest_cache .ruff_cache .mypy_cache .hypothesis
	find . -path ./classroom -prune -o -name __pycache__ -type d -prune -exec rm -rf {} +

empty-classroom: ## remove a term's work in classroom/ (submissions, gradebook, feedback), after asking
	@if [ -e classroom/hub ]; then echo 'classroom/hub holds a hub with users of its own: sudo make hub-clean first.'; exit 1; fi
	@printf 'All submissions, marks and feedback in classroom/ go for good. Type "remove" to go on: '; \
	    read -r answer; if [ "$$answer" != remove ]; then echo 'Nothing was removed.'; exit 1; fi
	rm -rf classroom
