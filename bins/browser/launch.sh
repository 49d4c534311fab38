#!/usr/bin/env bash
# launch.sh URL [ARGUMENTS]: opens the browser at URL, for the current folder. The program
# next to this script is used, or else the repository's, which is built first.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)

if [ $# -eq 0 ]; then
    echo "usage: launch.sh URL [ARGUMENTS]; --help lists them" >&2
    exit 2
fi
if [ -x "$here/browser" ] && [ ! -d "$here/browser" ]; then
    exec "$here/browser" "$@"
fi
root=$(cd "$here/../.." && pwd)
"$root/scripts/prepare" browser
cargo build --release --locked --manifest-path "$root/Cargo.toml" --bin browser
exec "${CARGO_TARGET_DIR:-$root/target}/release/browser" "$@"
