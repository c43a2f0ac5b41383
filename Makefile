# `make test` and `make policy` are what CI runs; CONTRIBUTING.md says when to use which target.

VENV := .tools/venv
FUNCTIONS := webhook processor deferred-reply sender api reconcile publisher poster
EMULATOR := tests/emulator/emulator.py
# The machine's own Python, found before the path below puts the tools' one first.
PYTHON := $(shell command -v python3)

export PATH := $(CURDIR)/$(VENV)/bin:$(CURDIR)/.tools/bin:$(PATH)
# Lints and tests need some region, and no account. A deployment has the region and the credentials of the AWS configuration.
ifeq ($(filter deploy,$(MAKECMDGOALS)),)
export AWS_DEFAULT_REGION ?= us-east-1
export AWS_EC2_METADATA_DISABLED := true
endif
export SAM_CLI_TELEMETRY := 0
export INSTA_UPDATE := no
# A run from cold builds each crate once: what a second build would need is not written (6 GB). Set it to 1 to change and test often.
export CARGO_INCREMENTAL ?= 0

.PHONY: console-test test tools lint file-lints policy programs other-features functions lambdas suite waiting busy behaviours disk smoke permissions simulation extra dynamo fuzz exhaustive planted deploy dist figures soak isolation attack clean

# Everything: lints, the template, unit, property and contract tests, the simulation, end to end on this machine and on the
# emulator. It builds each crate once, with the features of all: a target that names single packages would build their
# dependencies again, with fewer. Clippy runs in the same compilation. What waits for the network, for processes and servers
# runs beside what computes: `extra` has built both.
test:
	cargo fmt --all --check
	tests/side_by_side.sh tools programs
	tests/side_by_side.sh file-lints extra
	tests/side_by_side.sh waiting busy

# Clippy takes the place of the compiler for our own crates, so that a build finds what `make lint` finds, without a
# compilation of its own for all dependencies. What is released is built without it.
programs other-features functions suite waiting busy behaviours disk smoke permissions simulation extra dynamo: export RUSTC_WORKSPACE_WRAPPER := clippy-driver
programs other-features functions suite waiting busy behaviours disk smoke permissions simulation extra dynamo: export CLIPPY_ARGS := -D__CLIPPY_HACKERY__warnings

# Pinned tools, into this folder's own .tools. (Without ensurepip, which Debian ships apart.)
tools: $(VENV)/.installed

$(VENV)/.installed: tests/requirements.txt
	$(PYTHON) -m venv --without-pip $(VENV)
	$(PYTHON) -m pip --python $(VENV)/bin/python install --quiet --disable-pip-version-check -r tests/requirements.txt
	touch $@

# The lints alone, without code for tests.
lint: file-lints
	cargo fmt --all --check
	cargo clippy --workspace --all-targets $(SUITE) -- -D warnings
	cargo clippy --workspace --lib --bins -- -D warnings

file-lints: tools
	sam validate --lint
	cfn-lint infra/*.yaml
	infra/price.py --check
	openapi-spec-validator docs/openapi.json
	tests/aws_commands.py
	tests/tidy.sh

# What the emulator runs: the functions for this machine's processor, compiled with what the tests need anyway. AWS End User
# Messaging Social is a feature, which deployments leave out unless they need it; `other-features` compiles everything without
# it, too. `schema` is what tests of recado-features need: programs that are built with it share one compilation with the tests.
SUITE := --features recado-tests/emulator,recado-lambda/aws-social,recado/tested,recado-features/schema
functions: tools programs
	infra/place-functions.sh $(FUNCTIONS)

programs:
	cargo build --profile test --workspace --bins $(SUITE)
	tests/build_weight.py libraries

# What no test is built of: the examples, the libraries with fewer features, and what `cargo run` compiles.
other-features:
	cargo build --profile test --workspace --examples $(SUITE)
	cargo build --profile test --workspace --lib
	cargo check --package recado

# The functions as they are deployed, but with a profile that is quick to build and link.
lambdas: tools
	cargo lambda build --profile ci $(addprefix --package ,$(FUNCTIONS)) $(if $(filter x86_64,$(ARCHITECTURE)),--x86-64,--arm64)
	infra/check-architecture.sh $(or $(ARCHITECTURE),arm64)

suite: functions
	tests/emulator/run.sh cargo test --workspace --no-fail-fast $(SUITE)

# The console in a browser: Chromium from this machine (or `CHROMIUM`), and the packages of its lock file.
console-test:
	cargo build --package recado --features full --bin recado
	cd tests/console && npm ci --no-audit --no-fund --silent && node run.mjs

# The suite in two parts. The second names every test file but those of the first, and every program that has tests, so that
# none is left out.
WAITING := one_machine contract emulator
waiting: functions
	tests/emulator/run.sh cargo test --workspace --no-fail-fast $(SUITE) $(addprefix --test ,$(WAITING))
	$(MAKE) behaviours disk smoke

busy:
	others=$$(tests/list_tests.py --without $(WAITING)) && cargo test --workspace --no-fail-fast $(SUITE) --lib $$others
	cargo test --workspace --no-fail-fast $(SUITE) --doc

# What may not break, over HTTP against the program, with stand-ins for its partners (tests/behaviours). BEHAVIOURS="hours 1.88" plays
# those alone.
behaviours: programs
	tests/behaviours/run.py --binary $${CARGO_TARGET_DIR:-target}/debug/recado $(BEHAVIOURS)

# A data folder whose disk loses power, is full, slow or fails (tests/disk). POINTS=10000 cuts the power at so many moments;
# RECADO_SEED=… JOURNAL=… POINT=… plays one again.
disk: programs
	tests/disk/run.py --binary $${CARGO_TARGET_DIR:-target}/debug/recado

# The steps for a real account (docs/aws.md), as far as the emulator goes, with the functions' roles enforced.
smoke: functions
	EMULATOR_OPTIONS=--check-permissions tests/emulator/run.sh infra/smoke.sh --emulator

# The emulator's tests with the functions' roles enforced. Left out are those of schedules, which the emulator then refuses, and two that
# send several messages to a queue at once: IAM asks for sqs:SendMessage there, the emulator for an action that IAM does not have.
permissions: smoke
	EMULATOR_OPTIONS=--check-permissions tests/emulator/run.sh \
		cargo test --workspace --no-fail-fast $(SUITE) --test emulator -- --skip hours \
		--skip a_history_of_old_messages --skip nothing_of_a_cancelled_batch

# The use cases on a virtual clock: 1,000 fixed random histories and some new ones, a crash and a power cut at every kind of
# step of the stories, each safeguard taken out. RECADO_SEED=… plays one history again, RECADO_SEEDS=… that many. Part of the
# suite.
simulation:
	cargo test -p recado-simulation --no-fail-fast

# The cases that read a folder of further payloads, which RECADO_EXTRA_FIXTURES names; without one they are counted.
EXTRA := cargo test --quiet --workspace $(SUITE) --tests -- --ignored extra_folder
extra: other-features
ifdef RECADO_EXTRA_FIXTURES
	$(EXTRA)
else
	@echo "left out: $$($(EXTRA) --list 2>/dev/null | grep -c ': test$$') cases: RECADO_EXTRA_FIXTURES names no folder"
endif

# Coverage-guided fuzzing of each provider's parser and each reader of documents, for so many seconds: FUZZ_SECONDS=600 for a night's.
FUZZ_SECONDS ?= 10
fuzz:
	tests/fuzz/run.sh $(FUZZ_SECONDS)
	tests/fuzz/documents.sh $(FUZZ_SECONDS)

# Every step of every story, the stalls too, 10,000 histories, and a tenant's removal killed at each request: an hour.
exhaustive:
	cargo test --profile ci -p recado-simulation --test exhaustive -- --include-ignored
	RECADO_SEEDS=10000 cargo test --profile ci -p recado-simulation --test seeds
	RECADO_SEEDS=1000 cargo test --profile ci -p recado-dynamo-histories -- --include-ignored

# Each bug of tests/planted.toml, planted in a copy of the sources: the test of its place must fail with it. It compiles that copy once.
# PLANTED="name …" plants those alone.
planted:
	tests/planted.py $(PLANTED)

# The contract and the same histories over the DynamoDB adapter and the AWS SDK, on a DynamoDB in the process. Part of the suite.
dynamo:
	cargo test --no-fail-fast -p recado-dynamo-simulation -p recado-dynamo-histories

# Builds for AWS, deploys, and looks at what was deployed (docs/aws.md): ARCHITECTURE=x86_64, PARAMETERS='Name=value …',
# CONFIG_ENV=staging, FEATURES=aws-social. The parameters go by the environment: no shell reads their characters.
deploy: override export PARAMETERS := $(value PARAMETERS)
deploy: tools
	infra/deploy.py $(if $(CONFIG_ENV),--config-env $(CONFIG_ENV)) $(if $(FEATURES),--features $(FEATURES)) \
		$(if $(ARCHITECTURE),Architecture=$(ARCHITECTURE))

# What a release holds for one processor: the program for one machine and the functions' archives, in target/dist.
dist: tools
	infra/make-release.sh $(or $(ARCHITECTURE),$(subst aarch64,arm64,$(shell uname -m))) $(FUNCTIONS)

# Licences, bans and sources of every crate (installs cargo-deny, which takes some minutes).
# Each lock file against the advisories of RustSec, which come over the network: where they cannot be had this fails and
# says so. POLICY_OFFLINE=1 leaves them out, and says that.
policy: .tools/bin/cargo-deny
	cargo deny --all-features check bans licenses sources
ifdef POLICY_OFFLINE
	@echo "policy: advisories were left out (POLICY_OFFLINE)"
else
	@cargo deny fetch db || { echo "policy: the advisory database cannot be had here; POLICY_OFFLINE=1 leaves advisories out" >&2; exit 1; }
	@for folder in . tests/fuzz; do \
		echo "policy: advisories of $$folder/Cargo.lock"; \
		cargo deny --manifest-path $$folder/Cargo.toml --all-features check --config deny.toml --disable-fetch advisories || exit 1; \
	done
endif

.tools/bin/cargo-deny:
	CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_OPT_LEVEL=1 CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 \
		cargo install --quiet --locked --root .tools cargo-deny@0.20.2

# What the figures of docs/figures.md are measured with.
figures: tools
	benches/figures.py
	benches/build_times.py
	benches/tenants.py
	cargo build --quiet --release -p recado-load
	benches/engine.py
	benches/console.py search
	benches/console.py live

# 10,000 messages of 500 conversations over 5 instances, with `kill -9` ten times: none lost, none sent twice, in order.
# Needs no tools. RECADO_SEED=… plays a run again; SOAK="--storm" lets the provider fail, too.
PROFILE ?= release
SOAK_BINARY = cargo build --quiet --profile $(PROFILE) -p recado --features full && \
	cargo run --quiet --profile $(PROFILE) -p recado-testkit --bin soak -- \
	--binary $${CARGO_TARGET_DIR:-target}/$(PROFILE)/recado
soak:
	$(SOAK_BINARY) crashes $(SOAK)

# Reply times of one instance, alone and beside a hung provider, a flooded tenant and a poisoned queue.
isolation:
	$(SOAK_BINARY) isolation $(SOAK)

# Reply times of two tenants, alone and while a third one attacks for half an hour (ATTACK="--minutes 5" for less).
attack:
	cargo build --quiet --release -p recado --features full
	benches/attack.py $(ATTACK)

clean:
	rm -rf target .tools .recado
