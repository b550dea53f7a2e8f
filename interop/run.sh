#!/usr/bin/env bash
# Runs the official clients, the real mqadmin and the two-way store proof against `roxmq server` on loopback, and clients
# through `roxmq proxy`.
# Needs JDK, Maven and Go, and the judge's programs in JUDGE_DIR (beside the checkout by default); says so and
# succeeds where those are absent, so that the tests need nothing but Rust.
set -euo pipefail
cd "$(dirname "$0")/.."

: "${JUDGE_DIR:=$PWD/../shared/judge}"
for tool in java mvn go; do
  command -v "$tool" > /dev/null || { echo "interop: skipped, no $tool here"; exit 0; }
done
[ -d "$JUDGE_DIR" ] || { echo "interop: skipped, no judge in $JUDGE_DIR"; exit 0; }

cargo build --release --locked -p roxmq
export ROXMQ="$PWD/target/release/roxmq" JUDGE_DIR

failed=0
for part in clients proxy restarts rust mqadmin store_both_ways; do
  printf '\n== interop: %s\n' "$part"
  "interop/$part.sh" || { echo "interop: $part failed"; failed=1; }
done
exit "$failed"
