#!/usr/bin/env bash
# The official Rust client against a server in the same process. Its tests are a workspace of their own (interop/rust).
set -euo pipefail
cd "$(dirname "$0")/.."

LOG="$(mktemp)"
trap 'rm -f "$LOG"' EXIT
# The client prints whatever it does.
if ! cargo test --manifest-path interop/rust/Cargo.toml > "$LOG" 2>&1; then
  cat "$LOG"
  exit 1
fi
grep -E '^test ' "$LOG"
