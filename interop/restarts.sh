#!/usr/bin/env bash
# The server is stopped, and later killed, under official gRPC clients: their producers and consumers go on by themselves
# when it is there again, and every message whose send was answered reaches each group.
# CLIENTS="java go rust python node" picks clients; Python's and Node's are taken from what the judge's kits have built.
set -euo pipefail
cd "$(dirname "$0")/.."
. interop/server.sh
. "$JUDGE_DIR/env.sh"

: "${CLIENTS:=java go rust}"
RUST_EXAMPLE=(--quiet --manifest-path interop/rust/Cargo.toml --example restarts)
declare -A COMMANDS=(
  [java]="java -Xmx256m -Duser.home=$WORK -cp $WORK/classes:$JUDGE_HOME/build/java-grpc/lib/* Restarts"
  [go]="env HOME=$WORK $WORK/go/restarts"
  [rust]="cargo run ${RUST_EXAMPLE[*]} --"
  [python]="env HOME=$WORK $JUDGE_HOME/build/python-grpc/venv/bin/python interop/grpc/restarts.py"
  [node]="env HOME=$WORK NODE_PATH=$JUDGE_HOME/build/node-grpc/node_modules node interop/grpc/restarts.js"
)
declare -A PIDS
trap '{ kill "${PIDS[@]}"; } 2> /dev/null || true; stop_server KILL; rm -rf "$WORK"' EXIT

build() { # client
  local java="$JUDGE_HOME/build/java-grpc"
  case "$1" in
    java)
      if [ ! -d "$java/lib" ]; then
        mkdir -p "$java"
        cp "$JUDGE_DIR/clients/java-grpc/pom.xml" "$java/pom.xml"
        (cd "$java" && mvn -q -B dependency:copy-dependencies -DoutputDirectory=lib)
      fi
      javac -nowarn -cp "$java/lib/*" -d "$WORK/classes" interop/grpc/Restarts.java ;;
    go)
      mkdir "$WORK/go"
      cp interop/grpc/restarts.go "$JUDGE_DIR"/clients/go-grpc/go.{mod,sum} "$WORK/go"
      (cd "$WORK/go" && go build -o restarts .) ;;
    rust) cargo build "${RUST_EXAMPLE[@]}" ;;
  esac
}

start_client() { # client: it is given the endpoint, its topic, and the file that ends it
  judge_mqadmin updateTopic -n "$NAMESRV_ADDR" -c DefaultCluster -t "Restarts-$1" -r 4 -w 4 > /dev/null
  touch "$WORK/$1.out"
  # The words of a command; a star is for the client.
  set -f
  ${COMMANDS[$1]} "$GRPC_ENDPOINT" "Restarts-$1" "$WORK/stop" > "$WORK/$1.out" 2> "$WORK/$1.err" &
  set +f
  PIDS[$1]=$!
  until grep -q sending "$WORK/$1.out"; do
    kill -0 "${PIDS[$1]}" || { cat "$WORK/$1.out" "$WORK/$1.err"; return 1; }
    sleep 0.2
  done
}

for client in $CLIENTS; do build "$client"; done
start_server
for client in $CLIENTS; do start_client "$client"; done
for signal in TERM KILL; do
  sleep 5
  stop_server "$signal"
  sleep 2
  start_server
done
sleep 5
touch "$WORK/stop"

failed=0
for client in $CLIENTS; do
  wait "${PIDS[$client]}" || failed=1
  grep -a lacks "$WORK/$client.out" || { failed=1; tail -20 "$WORK/$client.err"; }
done
exit "$failed"
