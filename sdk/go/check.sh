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

step tests, and the program of the README in an empty project
go test -race ./...

step conformance
mkdir -p .build
(cd ../conformance && go build -o ../go/.build/conformance .)
.build/conformance --adapter ./conformance-adapter --bin "$STEADFAST_BIN"

echo "all checks passed"
