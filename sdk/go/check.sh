#!/usr/bin/env bash
# Checks everything about this library: STEADFAST_BIN=../../target/debug/steadfast ./check.sh
# --short leaves out the race detector, for which the standard library is compiled again.
set -euo pipefail
cd "$(dirname "$0")"
: "${STEADFAST_BIN:?the binary of the server}"
STEADFAST_BIN="$(realpath "$STEADFAST_BIN")"
export STEADFAST_BIN GOWORK=off
unset STEADFAST_URL STEADFAST_API_KEY

step() { echo "go: $*"; }

step formatting
unformatted="$(gofmt -l . ../conformance ../bench)"
if [ -n "$unformatted" ]; then
  echo "not formatted: $unformatted"
  exit 1
fi

step vet
go vet ./...
(cd ../conformance && go vet ./...)
(cd otelsteadfast && go vet ./...)

step tests, and the program of the README in an empty project
race=-race
if [ "${1:-}" = --short ]; then race=; fi
go test $race ./...
(cd otelsteadfast && go test $race ./...)

step the start of the README
../start.sh go README.md main.go

step conformance
mkdir -p .build
(cd ../conformance && go build -o ../go/.build/conformance .)
.build/conformance --adapter ./conformance-adapter --bin "$STEADFAST_BIN"

step all is well
