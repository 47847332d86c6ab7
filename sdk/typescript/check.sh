#!/usr/bin/env bash
# Checks everything about this package: format, lints, types, tests, conformance, and the package in an
# empty project. Takes the server from STEADFAST_BIN. Needs Node and npm, and Go for the conformance program.
# --short leaves out the checkers of packages (publint, attw), which many packages have to be installed for.
set -euo pipefail
cd "$(dirname "$0")"
: "${STEADFAST_BIN:?set it to the steadfast program}"
STEADFAST_BIN=$(realpath "$STEADFAST_BIN")
export STEADFAST_BIN
unset STEADFAST_URL STEADFAST_API_KEY
export npm_config_update_notifier=false npm_config_loglevel=error npm_config_audit=false npm_config_fund=false

step() { echo "typescript: $*"; }

if ! cmp -s package-lock.json node_modules/.package-lock.source; then
  step "packages"
  npm ci
  cp package-lock.json node_modules/.package-lock.source
fi

step "format and lints"
node_modules/.bin/biome check .
step "types"
node scripts/build.mjs
step "tests"
node scripts/test.mjs --test-reporter=dot

step "conformance"
if command -v go >/dev/null; then
  (cd ../conformance && go run . --adapter ../typescript/conformance-adapter --bin "$STEADFAST_BIN")
else
  step "Go is missing, so the conformance program is left out"
fi

step "the start of the README"
../start.sh ts README.md jobs.mjs

step "package"
project=$(mktemp -d)
trap 'rm -rf "$project"' EXIT
package="$project/$(npm pack --pack-destination "$project" | tail -1)"
if [ "${1:-}" != --short ]; then
  npx --yes publint@0.3 run "$package" --strict
  npx --yes @arethetypeswrong/cli@0.18 "$package" --quiet --profile node16
fi
cp test/project/* "$project/"
(cd "$project" && npm init -y >/dev/null && npm install "$package" >/dev/null)
(cd "$project" && node use.mjs && node use.cjs)
step "all is well"
