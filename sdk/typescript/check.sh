#!/usr/bin/env bash
# Checks everything about this package: format, lints, types, tests, conformance, and the package in an
# empty project. Takes the server from STEADFAST_BIN. Needs Node and npm, and Go for the conformance program.
set -euo pipefail
cd "$(dirname "$0")"
: "${STEADFAST_BIN:?set it to the steadfast program}"
STEADFAST_BIN=$(realpath "$STEADFAST_BIN")
export STEADFAST_BIN
export npm_config_update_notifier=false npm_config_loglevel=error

if ! cmp -s package-lock.json node_modules/.package-lock.source; then
  npm ci --no-audit --no-fund
  cp package-lock.json node_modules/.package-lock.source
fi
mkdir -p dist build
# Tools of this repository pass over directories that are marked as caches.
for directory in node_modules dist build; do
  echo "Signature: 8a477f597d28d172789f06886806bc55" >"$directory/CACHEDIR.TAG"
done

node_modules/.bin/biome check .
node scripts/build.mjs
node scripts/test.mjs --test-reporter=spec

if [ "${1:-}" != "--without-conformance" ]; then
  (cd ../conformance && go run . --adapter ../typescript/conformance-adapter --bin "$STEADFAST_BIN")
fi

project=$(mktemp -d)
trap 'rm -rf "$project"' EXIT
package="$project/$(npm pack --pack-destination "$project" | tail -1)"
node_modules/.bin/publint run "$package" --strict
node_modules/.bin/attw "$package" --quiet --profile node16
cp test/project/* "$project/"
(cd "$project" && npm init -y >/dev/null && npm install --no-audit --no-fund "$package" >/dev/null)
(cd "$project" && node use.mjs && node use.cjs)
echo "all good"
