#!/usr/bin/env bash
# Talks to a running service with nothing but curl: adds, finds, links, reads the history.
# WAYPOST_URL and WAYPOST_TOKEN_FILE say which service; by default it is this folder's, at its socket:
# a port may be another program's, which would get the token.
set -euo pipefail

socket=()
[ -n "${WAYPOST_URL:-}" ] || socket=(--unix-socket .waypost/data/service.sock)
url=${WAYPOST_URL:-http://localhost}
token=$(cat "${WAYPOST_TOKEN_FILE:-.waypost/token}")

call() {
    local path=$1
    shift
    curl --silent --show-error --fail-with-body ${socket[@]+"${socket[@]}"} \
        --header "Authorization: Bearer $token" "$url$path" "$@"
    echo
}
id() { sed -n 's/^{"id":\([0-9]*\),.*/\1/p'; }

older=$(call /api/memory/add --data '{"content": "Releases need two approvals.", "type": "decision"}' | id)
newer=$(call /api/memory/add --data '{"content": "Releases need one approval again.", "type": "decision"}' | id)
call /api/memory/link --data "{\"from\": $newer, \"to\": $older, \"type\": \"updates\"}"
call "/api/memory/$older" --request PATCH --data '{"tags": ["process"]}'
call "/api/memory/$older/history"

found=$(call /api/memory/search --data '{"query": "approvals for releases", "limit": 2}')
echo "$found"
case $found in
"[{\"id\":$newer,"*) ;;
*) echo "the newer memory should come first" >&2; exit 1 ;;
esac
call /api/memory/status

# What of this folder a task needs; nothing has to be set up.
call /api/context/rescan --request POST
call /api/context --data '{"query": "approvals", "taskType": "spec", "maxItems": 3}'
