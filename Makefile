# From a fresh clone with Python 3.11 or newer, Rust, gcc and make: `make demo`, or `make test`.
# Everything is made inside this folder; `make clean` takes it away again.

SHELL := /bin/sh
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
LINT_RUST := lint-rustfmt lint-clippy lint-rustdoc
LINT_PYTHON := lint-ruff-format lint-ruff lint-mypy lint-stubs lint-imports
.PHONY: help setup format lint lint-rust lint-python $(LINT_RUST) $(LINT_PYTHON) check test test-rust test-python test-studies docs wheel demo book benches bench-engine bench-power bench-layouts bench-applications bench-eyes debian-packages clean

VENV := .venv
BIN := $(VENV)/bin
WHEEL_TOOLS := target/wheel-tools
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check
FIND_PYTHON := for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done
PYTHON ?= $(shell $(FIND_PYTHON))
RUST_SOURCES := Cargo.toml Cargo.lock $(shell find crates/load crates/py -name '*.rs' -o -name Cargo.toml)

help:
	@echo 'make demo             set up, then tune the bundled application under gunicorn'
	@echo 'make book             measure what the founding documents measured (half an hour; BOOK_ARGS=--help)'
	@echo 'make setup            make $(BIN)/httpdyno'
	@echo 'make test             everything: packages (as root on Debian), lint, all tests'
	@echo 'make test-studies     start every bundled study for real, at both ends of its knobs (minutes)'
	@echo 'make check            lint and the tests that need no installed server'
	@echo 'make lint | format    check the style | apply it'
	@echo 'make docs             build docs/reference: study files, formulas and rules, from what the program declares'
	@echo 'make wheel            make a wheel in dist, which installs where there is no compiler'
	@echo 'make benches          run every bench in its smallest form (as root, 15 minutes)'
	@echo 'make bench-engine     measure the load engine beside others (90 minutes; BENCH_ARGS=--help)'
	@echo 'make bench-power      measure what a budget proves (5 hours, or parts of it; BENCH_ARGS=--help)'
	@echo 'make bench-layouts    whether private copies take and serve what people have (as root, minutes)'
	@echo 'make bench-applications  whether applications in copies answer as the real ones (as root, minutes)'
	@echo 'make bench-eyes       what inspect, watch and looks cost a server (23 minutes; BENCH_ARGS=--help)'
	@echo 'make debian-packages  install the servers that some studies and tests need (as root)'
	@echo 'make clean            remove everything that was made'

setup: $(BIN)/.installed

$(BIN)/.venv:
	@test -n '$(PYTHON)' || { echo 'error: Python 3.11 or newer was not found'; echo; \
	  echo 'hint: install it, or name it: `make PYTHON=/path/to/python3 setup`'; exit 1; } >&2
	@for tool in cargo cc; do command -v $$tool >/dev/null || { \
	  echo "error: \`$$tool\` was not found: the load engine is compiled here"; echo; \
	  echo 'hint: install Rust (1.88 or newer) and a C compiler'; exit 1; }; done >&2
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo 'error: $(PYTHON) cannot make virtual environments'; echo; \
	  echo 'hint: install its `venv` module; on Debian: `apt-get install python3-venv`'; exit 1; } >&2
	$(PYTHON) -m venv $(VENV)
	@touch $@

# Only pyproject.toml can change what has to be installed; else it is enough to compile again.
$(BIN)/.installed: pyproject.toml $(BIN)/.venv $(RUST_SOURCES)
	@echo 'fetching what is missing and compiling the load engine: minutes the first time, and pip is silent'
	PATH="$(CURDIR)/$(BIN):$$PATH" $(PIP) install $(if $(filter pyproject.toml $(BIN)/.venv,$?),--editable '.[dev]',\
	  --no-deps --no-build-isolation --editable .)
	@touch $@

format: setup
	cargo fmt --all
	$(BIN)/ruff check --fix --quiet . || true
	$(BIN)/ruff format .

lint: lint-rust lint-python

# A target for each, so that `make --keep-going` shows what all of them find.
lint-rust: $(LINT_RUST)

lint-rustfmt: setup
	cargo fmt --all -- --check

lint-clippy: setup
	cargo clippy --workspace --all-targets --locked -- -D warnings

lint-rustdoc: setup
	RUSTDOCFLAGS='-D warnings' cargo doc --workspace --no-deps --document-private-items --locked

lint-python: $(LINT_PYTHON)

lint-ruff-format: setup
	$(BIN)/ruff format --check .

lint-ruff: setup
	$(BIN)/ruff check .

lint-mypy: setup
	$(BIN)/mypy

lint-stubs: setup
	$(BIN)/python -m mypy.stubtest httpdyno._native

lint-imports: setup
	$(BIN)/lint-imports

# The origin with known timing is built like the tests that use it.
test-rust: setup
	cargo build --locked -p httpdyno-oracle
	$(BIN)/python -m tests.rust

test-python: setup
	cargo build --locked -p httpdyno-oracle
	$(BIN)/python -m pytest $(PYTEST_ARGS)

# Each bundled study is started for real, at both ends of its knobs; `make test` starts one a feature.
test-studies: debian-packages setup
	$(BIN)/python -m pytest --every-study tests/studies

# Lint and all tests, side by side where nothing looks at time; says at its end how many passed.
check: setup
	$(BIN)/python -m tests.gate -m 'not real_server'

test: debian-packages setup
	$(BIN)/python -m tests.gate

# Built, not committed: the program prints the same.
docs: setup
	mkdir -p docs/reference
	$(BIN)/httpdyno study schema --markdown > docs/reference/study.md
	$(BIN)/httpdyno formula --markdown > docs/reference/formulas.md
	$(BIN)/httpdyno inspect --rules > docs/reference/rules.md

# Linked by zig against glibc 2.17, so that it runs on older systems than this one too.
wheel: $(WHEEL_TOOLS)/.installed
	PYTHONPATH='$(CURDIR)/$(WHEEL_TOOLS)' PATH="$(CURDIR)/$(BIN):$$PATH" $(WHEEL_TOOLS)/bin/maturin build \
	  --release --zig --compatibility manylinux2014 --out dist

$(WHEEL_TOOLS)/.installed: $(BIN)/.venv
	$(PIP) install --upgrade --target $(WHEEL_TOOLS) 'maturin[zig]>=1.9,<2'
	@touch $@

demo: setup
	$(BIN)/httpdyno demo

# Nothing else should run meanwhile. BOOK_ARGS=--resume goes on with one that was broken off.
book: setup
	$(BIN)/httpdyno book run --all --html book.html $(BOOK_ARGS)

# Whether each still runs to its end, not what it finds. BENCH_ARGS='--only power engine' takes two.
benches: setup debian-packages
	cargo build --release --locked -p httpdyno-oracle
	$(BIN)/python -m benches $(BENCH_ARGS)

# Nothing else should run meanwhile: client and origin want a core each.
bench-engine: setup
	packaging/install-debian-packages packaging/bench-packages.txt
	cargo build --release --locked -p httpdyno-oracle
	$(BIN)/python -m benches.engine $(BENCH_ARGS)

# Nothing else should run meanwhile, for hours; BENCH_ARGS='--only 2,3' measures a part.
bench-power: setup debian-packages
	cargo build --release --locked -p httpdyno-oracle
	$(BIN)/python -m benches.power $(BENCH_ARGS)

# As root: layouts of servers lie below /srv meanwhile. BENCH_ARGS='--only stock' takes a part.
bench-layouts: setup debian-packages
	packaging/unpack-debian-packages packaging/nginx-modules.txt target/nginx-modules
	$(BIN)/python -m benches.layouts $(BENCH_ARGS)

# As root: applications lie below /srv, /opt and others meanwhile. BENCH_ARGS='--compare 0s' is faster.
bench-applications: setup debian-packages
	packaging/unpack-debian-packages packaging/applications.txt target/applications
	$(BIN)/python -m benches.own_sites --only applications $(BENCH_ARGS)

# Nothing else should run meanwhile. BENCH_ARGS='--only inspect sampling' takes three of them.
bench-eyes: setup debian-packages
	$(BIN)/python -m benches.eyes $(BENCH_ARGS)

debian-packages:
	packaging/install-debian-packages

clean:
	rm -rf $(VENV) target dist build reports book.html .hypothesis .mypy_cache .pytest_cache .ruff_cache
	rm -rf .import_linter_cache python/httpdyno/_native*.so
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
