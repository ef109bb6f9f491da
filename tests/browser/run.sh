#!/usr/bin/env bash
# The web page of the server in a real browser: headless Chromium, steered over its debugging pipe by Node.js alone.
# PICTURES=DIR keeps screenshots there, to be looked at.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
browser=${BROWSER:-}
for name in chromium chromium-browser google-chrome google-chrome-stable; do
    [ -n "$browser" ] || browser=$(command -v $name || true)
done
if [ -z "$browser" ] || ! command -v node >/dev/null; then
    echo "skipped: the web page in a browser (Chromium or Node.js is not installed)"
    exit 0
fi
PLANARIA=${PLANARIA:-$here/../../target/release/planaria} BROWSER=$browser node "$here/page.mjs"
