# crdeval: `make help` lists the targets. Each target installs the tools that it needs into .cache/.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

CACHE   := $(CURDIR)/.cache
BIN     := $(CURDIR)/bin
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
COMMIT  ?= $(shell git describe --always --abbrev=40 --exclude='*' --dirty=-modified 2>/dev/null)
LDFLAGS := -s -w -X main.version=$(VERSION) -X main.stamp=$(COMMIT)

# Arguments of the targets below.
CASE        ?= .
SUITE       ?=
SEED        ?= 1
VOLUME      ?= 16
FUZZTIME    ?= 60s
LOOPS       ?= 8
JOBS        ?= 1
GRPC_PORT   ?= 9090
REST_PORT   ?= 8080
CRDS        ?= 10000
CACHE_BYTES ?= 268435456
KILLS       ?= 100
MEMORY_CRDS ?= 1000
LENGTHS     ?= 1000000,3000000
TESTFLAGS   ?=
DURATION    ?= 0
RATE        ?= 40
OUT         ?=
BINARY      ?=
FLAGS       ?=
PLATFORMS   ?= amd64 arm64
APISERVER_PLATFORMS ?= $(PLATFORMS)
conformance: N ?= 200000
conformance quirks: export GOGC = $(COMPARE_GOGC)
steady: N ?= 20

# Without vet: make lint runs it.
GOTEST := go test -vet=off -timeout 30m $(TESTFLAGS)
# Kubernetes' code makes much garbage. With fewer collections, a comparison with it needs a fifth less CPU time.
COMPARE_GOGC := 400

.PHONY: help
help: ## List the targets
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sort | awk -F ':.*## ' '{printf "  make %-15s %s\n", $$1, $$2}'

.PHONY: run
run: build ## Start the server with sample CRDs, evaluate sample objects, keep serving; GRPC_PORT=… REST_PORT=…
	@deploy/samples/tour $(GRPC_PORT) $(REST_PORT)

.PHONY: build
build: ## Build the static binary bin/crdeval
	@CGO_ENABLED=0 go build -trimpath -ldflags '$(LDFLAGS)' -o $(BIN)/crdeval ./server/cmd/crdeval

.PHONY: playground
playground: page build ## Build bin/crdeval with the page of the playground, and start it; needs Node.js with npm
	@$(BIN)/crdeval playground

.PHONY: page
page: ## Build the page of the playground, which later builds of crdeval contain; needs Node.js with npm
	@cd server/editor/playground/web && npm ci --silent --no-audit --no-fund && npm run --silent build

.PHONY: test
test: ## Run the tests of both modules; TESTFLAGS=…
	$(GOTEST) ./...
	cd engine/conformance && GOGC=$(COMPARE_GOGC) $(GOTEST) ./...

.PHONY: steady
steady: ## Run `make test` N (20) times, JOBS (1) at a time, beside LOOPS (8) busy loops and count the passes
	@.ci/steady $(N) $(LOOPS) $(JOBS)

# The race detector finds nothing where one goroutine runs. Therefore -short skips long tests of one goroutine, and of the
# engine only packages whose code or tests start goroutines run.
RACE    := CGO_ENABLED=1 go test -race -timeout 30m
STARTED := ^\s*go (func|[a-z])|\.Go\(func|AfterFunc\(
.PHONY: race
race: ## Run the tests of server and clients, those of the engine with goroutines, and those of replicas, under the race detector
	$(RACE) -short ./cache/... ./clients/... ./server/... $$(git grep -lE '$(STARTED)' -- 'engine/*.go' ':!engine/conformance' | \
		sed 's|^|./|; s|/[^/]*$$||' | sort -u)
	CRDEVAL_E2E=1 $(RACE) -run 'TestReplicasInProcess|TestFollowing|TestUnavailable' ./server/app ./server/registry/etcd

.PHONY: lint
lint: export GOLANGCI_LINT_CACHE = $(CACHE)/lint # results contain absolute paths: one cache for each clone
lint: $(CACHE)/golangci-lint generate-tools prose tidy ## Run golangci-lint, buf lint and Vale; check go.mod and go.sum
	$(CACHE)/golangci-lint run ./...
	cd engine/conformance && $(CACHE)/golangci-lint run --config $(CURDIR)/.golangci.yml ./...
	cd server/loadtest && $(CACHE)/golangci-lint run --config $(CURDIR)/.golangci.yml ./...
	cd clients/apiserver && $(CACHE)/golangci-lint run --config $(CURDIR)/.golangci.yml ./...
	cd clients/apiserver/e2e && $(CACHE)/golangci-lint run --config $(CURDIR)/.golangci.yml ./...
	$(CURDIR)/.tools/generate.sh lint

.PHONY: tidy
tidy: ## Check that `go mod tidy` changes no module
	@for mod in $$(git ls-files '*go.mod'); do \
		(cd "$$(dirname "$$mod")" && GOWORK=off go mod tidy -diff) || { echo "$$mod is not tidy: run go mod tidy"; exit 1; }; \
	done

.PHONY: prose
prose: $(CACHE)/vale ## Check the prose of documents, comments and proto files with Vale
	@[ ! -f .vale.ini ] || git ls-files '*.md' '*.go' '*.proto' ':!*.pb.go' ':!*.pb.gw.go' ':!*/testdata/*' | \
		xargs $(CACHE)/vale --output line

$(CACHE)/golangci-lint: .tools/lint/go.mod .tools/lint/go.sum
	@mkdir -p $(CACHE)
	cd .tools/lint && go build -o $@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint

$(CACHE)/vale: .tools/vale/go.mod .tools/vale/go.sum
	@mkdir -p $(CACHE)
	cd .tools/vale && CGO_ENABLED=1 CGO_CFLAGS=-w go build -o $@ github.com/vale-cli/vale/v3/cmd/vale

.PHONY: generate-tools
generate-tools:
	@$(CURDIR)/.tools/generate.sh tools

.PHONY: generate
generate: generate-tools ## Regenerate all generated code: Go, gateway, OpenAPI, Python stubs
	@$(CURDIR)/.tools/generate.sh generate

.PHONY: bench
bench: ## Measure crdeval and Kubernetes in the same run; CASE=regexp FLAGS='-peers=ajv,kubeconform'
	@cd engine/conformance && go run ./cmd/bench -case '$(CASE)' $(FLAGS)

.PHONY: figures
figures: ## Measure once and write the tables of docs/comparison.md; FLAGS='-rounds 3 -turn 60ms'
	@.tools/figures $(FLAGS)

.PHONY: conformance
conformance: ## Compare N cases with Kubernetes, then run the tests with VOLUME (16) times their cases; SUITE=… SEED=…
	@cd engine/conformance && go run ./cmd/conformance -suite '$(SUITE)' -n $(N) -seed $(SEED)
	@[ -n '$(SUITE)' ] || { CRDEVAL_VOLUME=$(VOLUME) $(GOTEST) ./engine/... && \
		cd engine/conformance && CRDEVAL_VOLUME=$(VOLUME) $(GOTEST) ./...; }

.PHONY: metamorphic-faults
metamorphic-faults: ## Plant six faults in turn; fail if 2,000 random histories do not find one; SEED=…
	@cd engine/conformance && go run ./cmd/conformance -faults -seed $(SEED)

.PHONY: repositories
repositories: build ## Run admit in ten real repositories, beside Kubernetes' own code; FLAGS='-module=regexp'
	@cd engine/conformance && go run ./cmd/repositories $(FLAGS) '$(BIN)/crdeval'

.PHONY: apiserver
apiserver: ## Test clients/apiserver, which serves custom resources on k8s.io/apiserver
	cd clients/apiserver && CGO_ENABLED=1 $(GOTEST) -race ./...

.PHONY: apiserver-e2e
apiserver-e2e: ## Run kubectl and upstream's integration tests against servers of clients/apiserver
	cd clients/apiserver/e2e && CRDEVAL_EVALUATOR=inprocess $(GOTEST) ./... && CRDEVAL_EVALUATOR=sidecar $(GOTEST) ./...
	CRDEVAL_EVALUATOR=inprocess clients/apiserver/upstream/run
	CRDEVAL_EVALUATOR=sidecar clients/apiserver/upstream/run

# Separate from apiserver-e2e, because it downloads and compiles another project.
.PHONY: apiserver-controllers
apiserver-controllers: ## Run the manager and tests of Cluster API against servers of clients/apiserver
	cd clients/apiserver && CRDEVAL_E2E=1 $(GOTEST) -count=1 -v ./controllers

.PHONY: apiserver-kills
apiserver-kills: ## Kill crdeval-apiserver, its etcd and its sidecar KILLS (100) times under writes, watches and changes of a CRD
	cd clients/apiserver/e2e && CRDEVAL_KILLS=$(KILLS) $(GOTEST) -count=1 -v -run '^TestKills$$' .

.PHONY: apiserver-memory
apiserver-memory: ## Compare the memory of MEMORY_CRDS (1,000) CRDs in crdeval-apiserver and in upstream's server
	cd clients/apiserver/e2e && MEMORY_CRDS=$(MEMORY_CRDS) $(GOTEST) -count=1 -v -run '^TestMemory$$' .

.PHONY: apiserver-bench
apiserver-bench: ## Compare the CPU time of crdeval-apiserver with that of upstream's API server, in half an hour; CASE=regexp FLAGS='-rounds=5'
	@cd clients/apiserver/e2e && CRDEVAL_E2E=1 $(GOTEST) ./bench -count=1 -timeout 90m -v -run '^TestBench$$' -args -kinds='$(CASE)' $(FLAGS)

.PHONY: cluster
cluster: ## Test conversion webhooks with an API server for CRDs and etcd, in the process of the test
	cd engine/conformance && $(GOTEST) -tags cluster ./cluster

.PHONY: quirks
quirks: ## Disable each reproduced quirk in turn; fail if the comparison does not notice one
	@cd engine/conformance && go run -tags quirks ./cmd/conformance -quirks -n 20000

.PHONY: fuzz
fuzz: ## Run each fuzz target for FUZZTIME
	@FUZZTIME=$(FUZZTIME) .ci/fuzz

.PHONY: e2e
e2e: clients playground-e2e editors server-e2e ## Test the real server, all clients, the playground and editors

.PHONY: server-e2e
server-e2e: build image ## Test the real server: the image, examples in Python, replicas, kill -9, power loss, a thousand CRDs
	@.ci/e2e

.PHONY: clients
clients: ## Test the clients in Go, Java, Python and TypeScript with a real server, and generated REST clients
	@.ci/clients

.PHONY: playground-e2e
playground-e2e: ## Test the playground in headless Chromium, with a server and as WebAssembly; OUT=… (of screenshots)
	@.ci/playground $(OUT)

.PHONY: editors
editors: ## Test crdeval lsp in Neovim, and completion and man pages with other programs
	@.ci/editors

.PHONY: release
release: ## Build the archives of a release without publishing them, and check them
	@.ci/release

.PHONY: scale
scale: ## Register CRDS (10,000) CRDs, restart, evaluate objects of all; print times and memory; CACHE_BYTES=…
	@cd server/loadtest && CRDEVAL_E2E=1 $(GOTEST) ./load -count=1 -v -run '^TestScale$$' -args -crds=$(CRDS) -cache-bytes=$(CACHE_BYTES)

.PHONY: stream
stream: ## Stream LENGTHS objects through AdmitStream; print the rate and the memory of client and server
	@cd server/loadtest && CRDEVAL_E2E=1 $(GOTEST) ./load -count=1 -v -run '^TestStream$$' -args -lengths=$(LENGTHS)

.PHONY: loadtest
loadtest: ## Test the files of deploy, and the cases of make load in a small size
	cd server/loadtest && $(GOTEST) ./...

.PHONY: callpath
callpath: ## Print the functions of the server that one Validate over REST executes, by package
	@cd server/loadtest && go test ./callpath -count=1 -v

# go test splits -run at each / and |, except in parentheses.
.PHONY: load
load: ## Reproduce hostile and heavy use, compare with the bars; CASE=regexp DURATION=… RATE=… OUT=… BINARY=… FLAGS=…
	@case='$(CASE)'; cd server/loadtest && CRDEVAL_E2E=1 go test -timeout 4h ./load -count=1 -v \
		-run "^TestLoad\$$/($${case//\//)/(})" -args -full \
		-duration=$(DURATION) -rate=$(RATE) -out='$(abspath $(OUT))' -binary='$(abspath $(BINARY))' -server-flags='$(FLAGS)'

IMAGE = cd .tools/image && go run . -version '$(VERSION)' -commit '$(COMMIT)' -created "$$(git log -1 --format=%ct)"

.PHONY: image
image: ## Build the container images bin/crdeval{,-apiserver}-image.tar for PLATFORMS (amd64 arm64), with SBOMs
	@build() { CGO_ENABLED=0 GOOS=linux GOARCH=$$1 go build -trimpath -buildvcs=false -ldflags '$(LDFLAGS)' \
		-o $(BIN)/linux-$$1/ $$2; }; \
	for arch in $(PLATFORMS); do build $$arch ./server/cmd/crdeval; done; \
	cd clients/apiserver; for arch in $(APISERVER_PLATFORMS); do build $$arch ./cmd/crdeval-apiserver; done
	@$(IMAGE) -output $(BIN)/crdeval-image.tar $(PLATFORMS:%=$(BIN)/linux-%/crdeval)
	@$(IMAGE) -output $(BIN)/crdeval-apiserver-image.tar $(APISERVER_PLATFORMS:%=$(BIN)/linux-%/crdeval-apiserver)

.PHONY: chart
chart: ## Render the Helm chart without an installed Helm; FLAGS='--values=FILE'
	@"$$(cd .tools/helm && GOWORK=off go tool -n helm.sh/helm/v4/cmd/helm)" template crdeval deploy/chart/crdeval $(FLAGS)

.PHONY: clean
clean: ## Remove all build results and installed tools
	rm -rf $(BIN) $(CACHE) dist engine/conformance/out
	git clean -qdfX clients server/editor/playground/web # packages of npm and Maven, and what they build
