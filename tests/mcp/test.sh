#!/bin/sh
# test.sh COMMAND FOLDER: the protocol's official client, installed into FOLDER from npm, against `COMMAND mcp`. 77: it cannot be had here.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
command -v node >/dev/null && command -v npm >/dev/null || { echo "skipped: needs node and npm"; exit 77; }
[ "$(node -p 'process.versions.node.split(".")[0]')" -ge 18 ] || { echo "skipped: needs node 18 or later"; exit 77; }
mkdir -p "$2"
cp "$here/package.json" "$here/client.mjs" "$2"
cd "$2"
[ -d node_modules/@modelcontextprotocol/sdk ] || timeout 120 npm install --no-audit --no-fund --no-package-lock >npm.log 2>&1 ||
  { tail -3 npm.log; echo "skipped: npm install failed"; exit 77; }
XDG_DATA_HOME=$2/data XDG_CONFIG_HOME=$2/config timeout 120 node client.mjs "$1"
