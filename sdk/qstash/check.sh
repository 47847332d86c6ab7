#!/usr/bin/env bash
# The official Python and TypeScript clients of QStash against the server of STEADFAST_BIN: every
# method, and the requests that arrive. Needs Python and Node.
# ROUNDS runs everything that many times, on one server.
set -euo pipefail
STEADFAST_BIN=$(realpath "${STEADFAST_BIN:?set it to the steadfast program}")
cd "$(dirname "$0")"
unset STEADFAST_URL STEADFAST_API_KEY QSTASH_DEV
export PIP_DISABLE_PIP_VERSION_CHECK=1
export npm_config_update_notifier=false npm_config_loglevel=error npm_config_audit=false npm_config_fund=false
tools=("qstash==3.4.0" "pytest==9.*")

step() { echo "qstash: $*"; }
# For `cargo xtask prove`: what was counted.
tell() {
    if [ -n "${STEADFAST_PROVE_REPORT:-}" ]; then
        printf 'doors: clients of QStash\t%s\t%s\n' "$1" "$2" >>"$STEADFAST_PROVE_REPORT"
    fi
}

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

place=$(mktemp -d)
server=
end() {
    if [ -n "$server" ]; then kill "$server" 2>/dev/null || true; fi
    rm -rf "$place"
}
trap end EXIT

STEADFAST_API_KEY=$(python3 -c 'import secrets; print(secrets.token_hex(32))')
export STEADFAST_API_KEY
STEADFAST_ADMIN_KEY=$STEADFAST_API_KEY "$STEADFAST_BIN" serve --qstash --store "sqlite:$place/jobs.db" \
    --listen 127.0.0.1:0 --outbound any >"$place/said" 2>&1 &
server=$!
until url=$(grep -om1 'http://127[0-9.:]*' "$place/said"); do
    kill -0 "$server" || { cat "$place/said"; exit 1; }
    sleep 0.05
done
export STEADFAST_URL=$url QSTASH_URL=$url/qstash QSTASH_TOKEN=$STEADFAST_API_KEY

for round in $(seq "${ROUNDS:-1}"); do
    step "Python client, round $round"
    .venv/bin/python -m pytest --quiet -p no:cacheprovider | tee "$place/python"
    tell "tests of the Python client passed" "$(grep -oE '[0-9]+ passed' "$place/python" | cut -d' ' -f1)"
    step "TypeScript client, round $round"
    node --test --test-reporter=tap client.test.js >"$place/node" || { cat "$place/node"; exit 1; }
    tell "tests of the TypeScript client passed" "$(sed -n 's/^# pass //p' "$place/node")"
done
step "all is well"
