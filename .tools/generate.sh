#!/usr/bin/env bash
# Installs its pinned tools into .cache/proto and runs one command:
#
#   generate.sh tools      installs the tools and does nothing else
#   generate.sh generate   writes all generated code: Go, the REST gateway, OpenAPI and Python stubs from proto/crdeval;
#                          the parts that the OpenAPI documents of all custom resources share from upstream's packages
#   generate.sh lint       runs buf lint, buf format and breaking
#   generate.sh breaking   compares the protos with proto/image.binpb, the image of the published API
#   generate.sh image      replaces that image, to publish additions to the API
#
# It needs Go, npm (buf) and Python (the Python stubs), and once the network for their registries.
# A second run changes nothing.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
tools=$root/.tools/proto
cache=$root/.cache/proto
python_out=$root/clients/python/src
openapi=$root/server/gateway/openapi

# stale NAME FILE...: succeeds if the files that pin NAME have changed since it was installed.
stale() {
	local name=$1
	shift
	[[ "$(cat "$@" | sha256sum)" != "$(cat "$cache/$name.sum" 2>/dev/null)" ]]
}

fresh() {
	local name=$1
	shift
	cat "$@" | sha256sum >"$cache/$name.sum"
}

install_buf() {
	mkdir -p "$cache/buf"
	if stale buf "$tools/package-lock.json" || [[ ! -x $cache/buf/node_modules/.bin/buf ]]; then
		cp "$tools/package.json" "$tools/package-lock.json" "$cache/buf/"
		npm ci --prefix "$cache/buf" --ignore-scripts --no-audit --no-fund --loglevel=error
		fresh buf "$tools/package-lock.json"
	fi
	export PATH=$cache/buf/node_modules/.bin:$PATH
}

install_plugins() {
	mkdir -p "$cache/bin"
	(cd "$tools" && GOWORK=off GOBIN=$cache/bin go install tool)
	export PATH=$cache/bin:$PATH
}

install_python() {
	if stale python "$tools/requirements.txt" || [[ ! -x $cache/python/bin/python ]]; then
		rm -rf "$cache/python"
		python3 -m venv "$cache/python"
		"$cache/python/bin/pip" install --quiet --disable-pip-version-check --only-binary=:all: -r "$tools/requirements.txt"
		fresh python "$tools/requirements.txt"
	fi
}

generate() {
	install_buf
	install_plugins
	install_python
	cd "$root"
	mkdir -p "$openapi" "$python_out"
	find proto/crdeval -name '*.pb.go' -o -name '*.pb.gw.go' | xargs -r rm -f
	buf generate
	(cd "$tools" && GOWORK=off go run ./openapi "$openapi/crdeval.swagger.json" "$openapi/openapi.json" "$openapi/openapi3.json")
	rm "$openapi/crdeval.swagger.json"
	find "$python_out" -name '*_pb2*.py' -o -name '*_pb2*.pyi' | xargs -r rm -f
	PATH=$cache/python/bin:$PATH "$cache/python/bin/python" -m grpc_tools.protoc -I proto \
		--python_out="$python_out" --pyi_out="$python_out" --grpc_python_out="$python_out" --mypy_grpc_out=quiet:"$python_out" \
		$(cd proto && find crdeval -name '*.proto' | sort)
	static
}

# static writes the parts that the OpenAPI documents of all custom resources share, from upstream's packages.
static() {
	(cd "$root/engine/conformance" && go run ./suites/openapi/static >"$cache/static.json")
	mv "$cache/static.json" "$root/engine/internal/openapi/static.json"
}

case "${1:-}" in
tools)
	install_buf
	install_plugins
	install_python
	;;
generate) generate ;;
lint)
	install_buf
	cd "$root"
	buf lint
	buf format --diff --exit-code --path proto/crdeval
	buf breaking --against proto/image.binpb
	;;
breaking)
	install_buf
	cd "$root"
	buf breaking --against proto/image.binpb
	;;
image)
	install_buf
	cd "$root"
	buf build -o proto/image.binpb
	;;
*)
	sed -n '2,/^set/{s/^# \{0,1\}//;/^set/d;p}' "$0"
	exit 2
	;;
esac
