#!/usr/bin/env bash
# Clients that generators of others make of docs/openapi.json compile, and call the server of
# STEADFAST_BIN: openapi-python-client, and openapi-typescript with openapi-fetch. Needs Python and Node.
set -euo pipefail
cd "$(dirname "$0")"
here=$PWD
: "${STEADFAST_BIN:?set it to the steadfast program}"
STEADFAST_BIN=$(realpath "$STEADFAST_BIN")
DOCUMENT=$(realpath "${DOCUMENT:-../../docs/openapi.json}")
unset STEADFAST_URL STEADFAST_API_KEY
export PIP_DISABLE_PIP_VERSION_CHECK=1
export npm_config_update_notifier=false npm_config_loglevel=error npm_config_audit=false npm_config_fund=false
tools=("openapi-python-client==0.29.1")

step() { echo "generators: $*"; }

if ! cmp -s package-lock.json node_modules/.package-lock.source; then
    step "packages"
    npm ci
    cp package-lock.json node_modules/.package-lock.source
    # So that tools which search the tree leave it out.
    echo "Signature: 8a477f597d28d172789f06886806bc55" >node_modules/CACHEDIR.TAG
fi
if [ "$(cat .venv/tools 2>/dev/null)" != "${tools[*]}" ]; then
    step "environment"
    python3 -m venv --clear .venv
    .venv/bin/pip install --quiet "${tools[@]}"
    echo "${tools[*]}" >.venv/tools
fi
export PATH=$here/.venv/bin:$PATH

place=$(mktemp -d)
server=
end() {
    if [ -n "$server" ]; then kill "$server" 2>/dev/null || true; fi
    rm -rf "$place"
}
trap end EXIT

"$STEADFAST_BIN" serve --store memory: --listen 127.0.0.1:0 >"$place/said" 2>&1 &
server=$!
until url=$(grep -om1 'http://127[0-9.:]*' "$place/said"); do
    kill -0 "$server" || { cat "$place/said"; exit 1; }
    sleep 0.05
done
export STEADFAST_URL=$url

step "openapi-python-client"
mkdir "$place/python" "$place/typescript"
openapi-python-client generate --path "$DOCUMENT" --output-path "$place/python/client" --meta none \
    --fail-on-warning >"$place/log" 2>&1 || { cat "$place/log"; exit 1; }
cp calls.py "$place/python"
(cd "$place/python" && python calls.py)

step "openapi-typescript"
cp calls.ts package.json "$place/typescript"
ln -s "$here/node_modules" "$place/typescript/node_modules"
cd "$place/typescript"
node_modules/.bin/openapi-typescript "$DOCUMENT" --output client.d.ts >"$place/log" 2>&1 || { cat "$place/log"; exit 1; }
node_modules/.bin/tsc --strict --target es2022 --module nodenext --skipLibCheck calls.ts
node calls.js
step "all is well"
