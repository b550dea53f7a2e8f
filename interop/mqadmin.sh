#!/usr/bin/env bash
# The real mqadmin, command by command. All of them work.
set -euo pipefail
cd "$(dirname "$0")/.."
. interop/server.sh

start_server
bash "$JUDGE_DIR/mqadmin.sh"
