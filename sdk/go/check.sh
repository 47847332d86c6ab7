#!/usr/bin/env bash
# Checks everything about this library: STEADFAST_BIN=../../target/debug/steadfast ./check.sh
set -euo pipefail
cd "$(dirname "$0")"
: "${STEADFAST_BIN:?the binary of the server}"
STEADFAST_BIN="$(realpath "$STEADFAST_BIN")"
export STEADFAST_BIN GOWORK=off

step() { echo "== $*"; }

step formatting
unformatted="$(gofmt -l . ../conformance)"
if [ -n "$unformatted" ]; then
  echo "not formatted: $unformatted"
  exit 1
fi

step vet
go vet ./...
(cd ../conformance && go vet ./...)

step tests
go test -race ./...

step conformance
mkdir -p .build
(cd ../conformance && go build -o ../go/.build/conformance .)
.build/conformance --adapter ./conformance-adapter --bin "$STEADFAST_BIN"

step install into an empty project
# The module as a proxy would serve it, so that nothing outside its own files can be needed.
version=v0.1.0
project="$(mktemp -d)"
trap 'chmod -R u+w "$project" && rm -rf "$project"' EXIT
served="$project/proxy/steadfast.example/steadfast/@v"
mkdir -p "$served" "$project/module/steadfast.example" "$project/app"
cp -r . "$project/module/steadfast.example/steadfast@$version"
rm -rf "$project/module/steadfast.example/steadfast@$version/.build"
(cd "$project/module" && python3 -m zipfile -c "$served/$version.zip" steadfast.example)
cp go.mod "$served/$version.mod"
echo "{\"Version\":\"$version\"}" >"$served/$version.info"
echo "$version" >"$served/list"
awk '/^```go$/ { if (!seen++) on = 1; next } /^```$/ { on = 0 } on' README.md >"$project/app/main.go"
(
  cd "$project/app"
  export GOPROXY="file://$project/proxy" GOSUMDB=off
  export GOMODCACHE="$project/cache"
  go mod init example >/dev/null 2>&1
  go get "steadfast.example/steadfast@$version" >/dev/null 2>&1
  go vet ./...
  go build -o app .
)
echo "all checks passed"
