# make help tells what there is. Everything needs Go only; what else is used is fetched at pinned versions into .bin.

GO       ?= go
# The version is that of the commit's tag, such as v0.1.0.
VERSION  ?= $(or $(patsubst v%,%,$(shell git describe --tags --exact-match --match 'v[0-9]*' 2>/dev/null)),0.1.0-dev)
BIN      := bin
# Programs of Windows have an ending, and links need rights there.
EXE      := $(if $(filter windows,$(or $(GOOS),$(shell $(GO) env GOOS))),.exe)
TOOLS    := .bin
PREFIX   ?= /usr/local
PLUGINS  := $(notdir $(wildcard plugins/*))
LDFLAGS  := -s -w -X main.version=$(VERSION)
# Static binaries run on any Linux, whatever its C library. The tag leaves out gRPC's pages for browsers, and with them
# a quarter of a plugin's program. Programs are stripped of debugging information, so that none is made: that takes a
# seventh of the compiler's time. So does collecting its garbage, which most packages are too small for.
FLAGS    := -trimpath -tags=grpcnotrace -gcflags=all=-dwarf=false '-toolexec=env GOGC=off GOMEMLIMIT=1GiB'
BUILD    := CGO_ENABLED=0 $(GO) build $(FLAGS)
# With the same flags Go compiles each package once for programs, linters, and tests without the race detector, and with
# the race detector once for all clones.
FLAGGED  := GOFLAGS="$(strip $(shell $(GO) env GOFLAGS) $(FLAGS))"
SAME     := CGO_ENABLED=0 $(FLAGGED)
# Linking tests without their symbols takes a third less; linters have run go vet.
GOTEST   := $(GO) test -vet=off -ldflags=-s
# The race detector needs a C compiler; without one the tests run all the same.
# Tests start their own program often, which with the race detector would sleep for a second before it ends.
export GORACE ?= atexit_sleep_ms=0
RACE     := $(shell command -v $$($(GO) env CC) >/dev/null 2>&1 && [ "$$($(GO) env CGO_ENABLED)" = 1 ] && echo -race)
# `make test` runs all tests once, without the race detector, and draws less in those that sweep over many cases (-short):
# what compiles twice takes twice as long. LONG=1, as in CI, runs all of each test, and with the race detector the
# packages in which goroutines share state. `make test-long` runs every other one with it, and cmd/toolhost, whose tests
# start programs and take four times as long.
# Those that take longest come first, so that the others fill the time beside them.
SHARED   := ./host/supervise ./sdk/proctree ./cmd/toolhost-server ./internal/wire/client ./plugins/shell ./plugins/mcp/... \
	./host ./host/approvals ./host/audit ./host/internal/queue ./host/internal/toolsearch ./host/supervise/internal/binaries \
	./host/supervise/internal/dirlock ./host/supervise/internal/placeholder ./host/supervise/internal/toolcache \
	./internal/callctx ./internal/wire ./sdk ./sdk/filenames ./sdk/sdktest ./sdk/workspace ./host/bootstrap ./host/mcpserver \
	./host/server/... ./host/telemetry ./internal/feed ./internal/netlimit ./plugins/http
LONGEST  := ./internal/shellcmd ./cmd/toolhost
# The tests of cmd/toolhost start programs: on a busy machine all of them take as long as go test allows a package, ten
# minutes.
SLOW     := -timeout 20m
# Tests that measure memory while plugins send gibibytes: the race detector takes four times as long, and as much memory.
# `make test-memory` runs them whole.
FLOODS   := TestGibibytes|TestStatusOfSixteenMebibytes
# Much of the time tests wait for processes: three times as many packages at a time as processors take a fifth less.
BESIDE   := -p $(shell echo $$((3 * $$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2))))
# Packages with tests that need MCP programs from npm. `make test` runs the other tests of them.
MCPTESTS := ./internal/conformance
FUZZTIME ?= 20s
CONTAINER ?= docker

GOLANGCI_VERSION    := v2.15.0
GOVULNCHECK_VERSION := v1.9.0
SYSTEMS             := linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64

.PHONY: help
help: ## tell what there is
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: run
run: build ## build everything, list the tools of config.hcl, and make real calls
	@.ci/tour

# Programs that start others run the launcher beside them that has this hash. Only Linux has one.
LAUNCHER := $(if $(filter linux,$(or $(GOOS),$(shell $(GO) env GOOS))),$(BIN)/toolhost-launcher)
SHA256   := $(or $(shell command -v sha256sum),shasum -a 256)
LAUNCHED := $(if $(LAUNCHER),-X github.com/toolhost/toolhost/sdk/proctree.launcherSum=$$($(SHA256) <$(LAUNCHER) | cut -c1-64))

.PHONY: build
build: launcher ## build toolhost and its plugins into bin/
	GOOS=$(GOOS) GOARCH=$(GOARCH) $(BUILD) -ldflags "$(LDFLAGS) $(LAUNCHED)" -o $(BIN)/ ./cmd/toolhost ./cmd/toolhost-server
	@$(if $(EXE),cp $(BIN)/toolhost$(EXE) $(BIN)/toolhost-call$(EXE),ln -sf toolhost $(BIN)/toolhost-call)
	@for p in $(PLUGINS); do \
		echo "$(BUILD) -o $(BIN)/toolhost-plugin-$$p$(EXE) ./plugins/$$p"; \
		GOOS=$(GOOS) GOARCH=$(GOARCH) $(BUILD) -ldflags "-s -w $(LAUNCHED)" -o $(BIN)/toolhost-plugin-$$p$(EXE) ./plugins/$$p || exit 1; \
	done

# With the race detector a program takes six times as long to start. The launcher has one goroutine: tests that start
# many plugins start its own program, without the detector, in place of theirs.
.PHONY: launcher
launcher:
	@mkdir -p $(BIN)
	$(if $(LAUNCHER),GOOS=linux GOARCH=$(GOARCH) $(BUILD) -buildvcs=false -ldflags '-s -w' -o $(LAUNCHER) ./cmd/toolhost-launcher)

.PHONY: test
test: $(if $(LONG),launcher) ## run all tests; LONG=1 for all cases of those that sweep, and for the race detector where goroutines share state
	@.ci/need-tmux
ifdef LONG
	@.ci/need-gemini
	TOOLHOST_TEST_LAUNCHER="$(if $(LAUNCHER),$(CURDIR)/$(LAUNCHER))" \
		$(FLAGGED) $(GOTEST) -ldflags="-s $(LAUNCHED)" $(SLOW) $(BESIDE) -skip '$(FLOODS)' $(RACE) $(SHARED)
	$(SAME) $(GOTEST) $(SLOW) $(BESIDE) $$($(GO) list $(LONGEST) ./... | grep -vxF "$$($(GO) list $(SHARED))")
else
	$(SAME) $(GOTEST) $(SLOW) $(BESIDE) -short $(LONGEST) ./...
endif

.PHONY: test-long
test-long: test-memory ## run the tests of all other packages with the race detector, and those that measure memory without it
	$(FLAGGED) $(GOTEST) $(SLOW) $(RACE) $$($(GO) list ./... | grep -vxF "$$($(GO) list $(SHARED))")

.PHONY: test-memory
test-memory:
	$(SAME) $(GOTEST) -run '$(FLOODS)' ./host/supervise

.PHONY: conformance
conformance: build ## run the MCP conformance suite, and the tests with MCP clients and servers from npm
	@.ci/need-gemini
	@TOOLHOST_TEST_LONG=1 TOOLHOST_TEST_MCP_DIR="$$(.ci/need-mcp)" $(SAME) $(GO) test -count=1 -v -timeout 20m $(MCPTESTS)
	@TOOLHOST_TEST_MCP_DIR="$$(.ci/need-mcp)" $(SAME) .ci/conformance-client

.PHONY: test-kits
test-kits: build ## run the tests of the kits for Node and Python
	@$(SAME) .ci/test-kits

# Pictures of all pages are kept in dist/console.
.PHONY: test-browser
test-browser: build ## run the tests of the console in a real Chromium, and keep pictures of its pages
	@.ci/need-chromium
	@mkdir -p dist/console
	@TOOLHOST_TEST_BROWSER="$${TOOLHOST_TEST_BROWSER:-1}" TOOLHOST_TEST_BROWSER_OUT="$(CURDIR)/dist/console" \
		TOOLHOST_TEST_CONSOLE_NPM="$$(.ci/need-console-npm)" $(SAME) $(GO) test -count=1 -timeout 15m ./host/server/console

.PHONY: pictures
pictures: ## take the pictures of the console in docs/images again
	@.ci/need-chromium
	@mkdir -p docs/images
	@TOOLHOST_TEST_BROWSER=required TOOLHOST_TEST_BROWSER_PICTURES="$(CURDIR)/docs/images" \
		$(GO) test -count=1 ./host/server/console -run '^TestBrowserPictures$$'

.PHONY: test-observability
test-observability: ## run the tests of metrics, dashboard and alert rules with a real Prometheus
	@TOOLHOST_TEST_PROMETHEUS_DIR="$$(.ci/need-prometheus)" $(SAME) $(GO) test -count=1 ./host/telemetry

.PHONY: check
check: fmt-check lint vet-others ## what must be green before a commit: format, linters, all of all tests
	$(MAKE) test test-long LONG=1

# Packages whose tests need a system of the Unix kind: for Windows all that is no test is compiled of them.
UNIX_TESTS := host/answers host/audit host/bootstrap host/history host/server/console \
	host/supervise/internal/binaries host/supervise/internal/toolcache internal/fsutil internal/wire plugins/shell

# The code is compiled without optimizations, which takes half the time.
.PHONY: vet-others
vet-others: ## check the code for macOS and Windows, on amd64 and arm64; ARCHS=arm64 for one
	for arch in $(or $(ARCHS),amd64 arm64); do \
		export GOARCH=$$arch GOFLAGS="$$($(GO) env GOFLAGS) '-gcflags=all=-N -l'"; \
		GOOS=darwin $(GO) vet ./... && GOOS=windows $(GO) build ./... && GOOS=windows $(GO) vet \
			$$(GOOS=windows $(GO) list ./... | grep -vxF $(UNIX_TESTS:%=-e github.com/toolhost/toolhost/%)) || exit 1; \
	done

.PHONY: crosscheck
crosscheck: ## check the code for macOS and Windows without compiling it: types, and what go vet finds in a package by itself
	@mkdir -p $(TOOLS)
	cd internal/tools/crosscheck && $(BUILD) -o ../../../$(TOOLS)/crosscheck .
	$(TOOLS)/crosscheck darwin/arm64
	$(TOOLS)/crosscheck windows/arm64 $(UNIX_TESTS)

.PHONY: fmt
fmt: ## format the code
	gofmt -w $$(git ls-files '*.go')

.PHONY: fmt-check
fmt-check:
	@out=$$(gofmt -l $$(git ls-files '*.go')); [ -z "$$out" ] || { echo "gofmt would change:"; echo "$$out"; exit 1; }

.PHONY: lint
lint: $(TOOLS)/golangci-lint-$(GOLANGCI_VERSION) ## run the linters, go vet among them
	$(SAME) $< run ./...
	for module in bench crosscheck; do (cd internal/tools/$$module && $(SAME) $(GO) vet ./...) || exit 1; done

$(TOOLS)/golangci-lint-$(GOLANGCI_VERSION):
	@mkdir -p $(TOOLS)
	GOBIN=$(CURDIR)/$(TOOLS) $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)
	@mv $(TOOLS)/golangci-lint $@

.PHONY: vuln
vuln: ## look for known vulnerabilities in what is linked (needs vuln.go.dev)
	$(GO) run golang.org/x/vuln/cmd/govulncheck@$(GOVULNCHECK_VERSION) ./...

.PHONY: release
release: ## build the archives of VERSION for all systems into dist/, with checksums, bills of materials and notes
	@$(SAME) .ci/release $(VERSION) $(SYSTEMS)

.PHONY: release-check
release-check: ## build the release of this commit for this system twice, and compare the bytes
	@.ci/release-check

.PHONY: image
image: ## build a container image of VERSION; CONTAINER=podman for another tool than docker
	$(CONTAINER) build -f packaging/container/Dockerfile --build-arg VERSION=$(VERSION) -t toolhost:$(VERSION) .

.PHONY: gen
gen: ## regenerate what is made from the protos of plugins and of the API
	$(GO) run ./internal/wire/pluginv1/gen
	$(GO) run ./host/api/gen

.PHONY: console-vendor
console-vendor: ## take the console's libraries from npm at their pinned hashes, and generate its client of the API
	@$(SAME) .ci/console-vendor

.PHONY: bench
bench: build ## measure toolhost beside other ways to run tools, in ten minutes; QUICK=1 for two, ARGS='-only deaths' for a part
	@mkdir -p dist
	@launched="$(LAUNCHED)"; cd internal/tools/bench && $(BUILD) -ldflags "$$launched" -o ../../../$(BIN)/bench . && for p in plugin stock once; do \
		$(BUILD) -ldflags '-s -w' -o ../../../$(BIN)/bench-$$p ./$$p || exit 1; done
	@$(BIN)/bench -bin $(BIN) $(if $(QUICK),-quick) -markdown dist/benchmarks.md -raw dist/benchmarks.txt $(ARGS)

.PHONY: bench-go
bench-go: ## run Go's benchmarks of all packages; compare ratios within one run, not figures between runs
	$(GO) test -run '^$$' -bench . -benchmem ./...

.PHONY: bench-history
bench-history: ## index a record of a million calls, and search it; takes some minutes and 3 GB
	TOOLHOST_BENCH_CALLS=1000000 $(GO) test -run '^$$' -bench History -benchtime 20x -timeout 30m ./host/history

.PHONY: bench-edit
bench-edit: ## score the edit plugin on noisy edits made from real files; ARGS='-seed 7 -show 20' draws others
	@$(GO) test ./plugins/edit -run '^TestCorpus$$' -count=1 -v -args -table $(ARGS)

.PHONY: chaos
chaos: ## inject faults into plugins and hosts under load for ten minutes; ARGS='-seed 7 -for 1m' for another run
	@mkdir -p $(BIN)
	$(BUILD) -o $(BIN)/chaos ./internal/tools/chaos
	@$(BIN)/chaos $(ARGS)

.PHONY: load
load: ## have 64 clients call over the API for ten minutes while the plugin is killed each second
	$(GO) test -count=1 -timeout 30m -v -run '^TestManyClientsWhilePluginsAreKilled$$' ./cmd/toolhost-server -load.for 10m

.PHONY: fuzz
fuzz: ## run every fuzz target for FUZZTIME (20s)
	@.ci/fuzz $(FUZZTIME)

.PHONY: man
man: ## write the manual pages to dist/man
	$(SAME) $(GO) run -tags man,grpcnotrace ./cmd/toolhost man dist/man

.PHONY: install
install: build man ## install programs, manual pages and completions under PREFIX (/usr/local)
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/share/man/man1 $(DESTDIR)$(PREFIX)/share/bash-completion/completions \
		$(DESTDIR)$(PREFIX)/share/zsh/site-functions $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d
	install $(BIN)/toolhost $(BIN)/toolhost-server $(LAUNCHER) $(BIN)/toolhost-plugin-* $(DESTDIR)$(PREFIX)/bin/
	ln -sf toolhost $(DESTDIR)$(PREFIX)/bin/toolhost-call
	install -m 644 dist/man/*.1 $(DESTDIR)$(PREFIX)/share/man/man1/
	$(BIN)/toolhost completion bash > $(DESTDIR)$(PREFIX)/share/bash-completion/completions/toolhost
	$(BIN)/toolhost completion zsh > $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_toolhost
	$(BIN)/toolhost completion fish > $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/toolhost.fish

.PHONY: clean
clean: ## remove what was built
	rm -rf $(BIN) dist $(TOOLS)/test
