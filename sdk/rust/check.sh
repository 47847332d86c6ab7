#!/usr/bin/env bash
# The conformance cases with the worker of crates/client, after
# cargo build -p steadfast-client --example conformance_adapter. Its other tests are those of the crate.
set -euo pipefail
cd "$(dirname "$0")/../conformance"
: "${STEADFAST_BIN:?the binary of the server}"
unset STEADFAST_URL STEADFAST_API_KEY
echo "rust: conformance"
go run . --adapter ../rust/conformance-adapter --bin "$STEADFAST_BIN"
echo "rust: all is well"
