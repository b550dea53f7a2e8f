#!/usr/bin/env bash
# The server is stopped, and later killed, under the official gRPC clients of Java and of Rust: their producers and
# consumers go on by themselves when it is there again, and every message whose send was answered reaches each group.
set -euo pipefail
cd "$(dirname "$0")/.."
. interop/server.sh
. "$JUDGE_DIR/env.sh"

run_over_restarts() { # topic command...: a client that is given the endpoint, the topic, and the file that ends it
  local topic="$1" client status=0
  shift
  judge_mqadmin updateTopic -n "$NAMESRV_ADDR" -c DefaultCluster -t "$topic" -r 4 -w 4 > /dev/null
  "$@" "$GRPC_ENDPOINT" "$topic" "$WORK/stop-$topic" > "$WORK/$topic.out" 2> "$WORK/$topic.err" &
  client=$!
  until grep -q sending "$WORK/$topic.out"; do
    kill -0 "$client" || { cat "$WORK/$topic.out" "$WORK/$topic.err"; return 1; }
    sleep 0.2
  done
  for signal in TERM KILL; do
    sleep 5
    stop_server "$signal"
    sleep 2
    start_server
  done
  sleep 5
  touch "$WORK/stop-$topic"
  wait "$client" || status=$?
  grep -a lacks "$WORK/$topic.out" || tail -20 "$WORK/$topic.err"
  return "$status"
}

CLIENT="$JUDGE_HOME/build/java-grpc"
if [ ! -d "$CLIENT/lib" ]; then
  mkdir -p "$CLIENT"
  cp "$JUDGE_DIR/clients/java-grpc/pom.xml" "$CLIENT/pom.xml"
  (cd "$CLIENT" && mvn -q -B dependency:copy-dependencies -DoutputDirectory=lib)
fi
javac -nowarn -cp "$CLIENT/lib/*" -d "$WORK/classes" interop/grpc/Restarts.java
RUST_EXAMPLE=(--quiet --manifest-path interop/rust/Cargo.toml --example restarts)
cargo build "${RUST_EXAMPLE[@]}"

start_server
failed=0
run_over_restarts RestartsJava java -Xmx256m -Duser.home="$WORK" -cp "$WORK/classes:$CLIENT/lib/*" Restarts || failed=1
run_over_restarts RestartsRust cargo run "${RUST_EXAMPLE[@]}" -- || failed=1
exit "$failed"
