#!/usr/bin/env bash
# Talks to the service with nothing but curl: starts one on a folder of its own, adds, searches.
# WAYPOST_SERVICE names the program; scripts/start builds it.
set -euo pipefail
cd "$(dirname "$0")/.."

folder=$(mktemp -d)
port=${WAYPOST_EXAMPLE_PORT:-47470}
base=http://127.0.0.1:$port
mkdir "$folder/.waypost"
"${WAYPOST_SERVICE:-target/release/service}" --project "$folder" --listen "127.0.0.1:$port" \
    >"$folder/out" 2>&1 &
service=$!
trap 'kill "$service" 2>/dev/null; wait "$service" 2>/dev/null || true; rm -rf "$folder"' EXIT

if ! curl --silent --show-error --retry 60 --retry-delay 1 --retry-all-errors --output /dev/null \
    --fail "$base/healthz"; then
    cat "$folder/out" >&2
    exit 1
fi
call() {
    curl --silent --show-error --fail-with-body \
        --header "Authorization: Bearer $(cat "$folder/.waypost/token")" "$@"
}

call "$base/api/memory/add" --data '{"title": "Port", "content": "The service listens on 4747"}'
echo
found=$(call "$base/api/memory/search" --data '{"query": "which port", "limit": 3}')
echo "$found"
case $found in
*4747*) ;;
*) echo "the memory was not found" >&2; exit 1 ;;
esac
call "$base/api/memory/status"
echo
