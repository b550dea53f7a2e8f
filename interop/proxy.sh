#!/usr/bin/env bash
# The official gRPC clients through `roxmq proxy` before two brokers, one of which is killed and started again under each
# of them. A check that this breaks has to pass afterwards.
set -euo pipefail
cd "$(dirname "$0")/.."

: "${ROXMQ:=$PWD/target/release/roxmq}"
: "${NAMESRV_PORT:=19876}"
: "${BROKER_PORT:=20911}"
: "${GRPC_PORT:=18081}"
: "${PROXY_REMOTING_PORT:=18080}"
export NAMESRV_PORT BROKER_PORT GRPC_PORT PROXY_REMOTING_PORT
export NAMESRV_ADDR="127.0.0.1:$NAMESRV_PORT" BROKER_ADDR="127.0.0.1:$BROKER_PORT"
export GRPC_ENDPOINT="127.0.0.1:$GRPC_PORT"
. interop/kits.sh
. "$JUDGE_DIR/env.sh"

WORK="$(mktemp -d)"
declare -A PIDS
trap '{ kill -9 "${PIDS[@]}"; wait "${PIDS[@]}"; } 2> /dev/null || true; rm -rf "$WORK"' EXIT

start() { # name arguments...
  local name="$1"
  shift
  "$ROXMQ" "$@" --set bindAddress=127.0.0.1 >> "$WORK/$name.out" 2>> "$WORK/$name.log" &
  PIDS[$name]=$!
  for _ in $(seq 100); do
    grep -q 'is ready' "$WORK/$name.out" && return 0
    sleep 0.1
  done
  echo "$name did not start:"; cat "$WORK/$name.out" "$WORK/$name.log"
  return 1
}

start_broker() { # name port
  start "$1" broker -n "$NAMESRV_ADDR" --set "brokerName=$1" --set "listenPort=$2" --set brokerIP1=127.0.0.1 \
    --set "storePathRootDir=$WORK/store-$1" --set transactionCheckInterval=5000 --set transactionTimeOut=6000
}

kill_and_start_again() { # name port
  kill -9 "${PIDS[$1]}"
  wait "${PIDS[$1]}" 2> /dev/null || true
  : > "$WORK/$1.out"
  start_broker "$1" "$2"
}

start namesrv namesrv --set "listenPort=$NAMESRV_PORT" --set "kvConfigPath=$WORK/kv.json"
start_broker broker-a "$BROKER_PORT"
start_broker broker-b "$((BROKER_PORT + 100))"
start proxy proxy -n "$NAMESRV_ADDR" --set "grpcServerPort=$GRPC_PORT" --set "remotingListenPort=$PROXY_REMOTING_PORT"

failed=0
for kit in go-grpc java-grpc; do
  start_kit "$kit" 3
  kill_and_start_again broker-b "$((BROKER_PORT + 100))"
  wait "$KIT" || failed=1
done
exit "$failed"
