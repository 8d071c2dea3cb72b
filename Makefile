# crdeval: `make help` lists the targets. Everything installs what it needs into .cache/ by itself.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

CACHE   := $(CURDIR)/.cache
BIN     := $(CURDIR)/bin
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
COMMIT  ?= $(shell git describe --always --abbrev=40 --exclude='*' --dirty=-modified 2>/dev/null)
LDFLAGS := -s -w -X main.version=$(VERSION) -X main.stamp=$(COMMIT)

# Arguments of the targets below.
CASE     ?= .
N        ?= 200000
SEED     ?= 1
SUITE    ?=
FUZZTIME ?= 60s
GRPC_PORT ?= 9090
REST_PORT ?= 8080
CRDS     ?= 10000
CACHE_BYTES ?= 268435456
LENGTHS ?= 1000000,3000000

.PHONY: help run build test race lint generate bench conformance quirks fuzz e2e scale stream image clean

help: ## List the targets
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sort | awk -F ':.*## ' '{printf "  make %-13s %s\n", $$1, $$2}'

run: build ## Start the service with the sample CRDs, evaluate sample objects, print the verdicts, stay up until Ctrl-C; GRPC_PORT=… REST_PORT=…
	@go build -o $(BIN)/tour ./clients/go/examples/tour
	@$(BIN)/tour --server-binary $(BIN)/crdeval --samples deploy/samples --grpc-port $(GRPC_PORT) --rest-port $(REST_PORT)

build: ## Build the static binary bin/crdeval
	@CGO_ENABLED=0 go build -trimpath -ldflags '$(LDFLAGS)' -o $(BIN)/crdeval ./server/cmd/crdeval

test: ## Run all tests: the main module and the conformance module
	go vet ./...
	go test ./...
	cd engine/conformance && go test ./...

race: ## Run the tests under the race detector
	go test -race -short ./...

lint: $(CACHE)/golangci-lint generate-tools ## Run golangci-lint and buf lint, at pinned versions
	$(CACHE)/golangci-lint run ./...
	cd engine/conformance && $(CACHE)/golangci-lint run --config $(CURDIR)/.golangci.yml ./...
	$(CURDIR)/.tools/generate.sh lint

# Findings are kept with the paths of their checkout, of which another one knows nothing.
lint: export GOLANGCI_LINT_CACHE = $(CACHE)/lint

$(CACHE)/golangci-lint: .tools/lint/go.mod .tools/lint/go.sum
	@mkdir -p $(CACHE)
	cd .tools/lint && go build -o $@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint

.PHONY: generate-tools
generate-tools:
	@$(CURDIR)/.tools/generate.sh tools

generate: generate-tools ## Regenerate all generated code: Go, gateway, OpenAPI, Python stubs
	@$(CURDIR)/.tools/generate.sh generate

bench: ## Print ours beside upstream's figures, taken in the same run; CASE=regexp
	@cd engine/conformance && go run ./cmd/bench -case '$(CASE)'

conformance: ## Run N differential cases against upstream; SUITE=objects, updates, crds, cel, tables, selectors, scale, openapi or promises, N=… SEED=…
	@cd engine/conformance && go run ./cmd/conformance -suite '$(SUITE)' -n $(N) -seed $(SEED)

quirks: ## Switch off each reproduced quirk in turn: every one must turn the run red
	@cd engine/conformance && go run -tags quirks ./cmd/conformance -quirks -n 20000

fuzz: ## Run every fuzz target for FUZZTIME each
	@FUZZTIME=$(FUZZTIME) .ci/fuzz

e2e: build ## Start the real server; drive it from Go and Python, with directories, replicas and a thousand CRDs; kill -9 it 100 times
	@.ci/e2e

scale: build ## Register CRDS CRDs (10,000), restart, evaluate objects of all of them; print times and memory beside their bars; CACHE_BYTES=…
	@go build -o $(BIN)/scale ./server/app/scale
	@$(BIN)/scale --server-binary $(BIN)/crdeval --samples deploy/samples --n $(CRDS) --cache-bytes $(CACHE_BYTES)

stream: build ## Stream a million CronTabs and then three through AdmitStream; print rate and memory of client and server beside their bars; LENGTHS=…
	@go build -o $(BIN)/stream ./server/app/stream
	@$(BIN)/stream --server-binary $(BIN)/crdeval -n $(LENGTHS)

image: ## Build the container image, crdeval:devel (needs Docker)
	docker build -f deploy/Dockerfile --build-arg VERSION=$(VERSION) --build-arg COMMIT=$(COMMIT) -t crdeval:$(VERSION) -t crdeval:devel .

clean: ## Remove what the targets above made
	rm -rf $(BIN) $(CACHE) engine/conformance/out
