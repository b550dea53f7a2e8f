#!/usr/bin/env bash
# The official Java and Go clients, over remoting and over gRPC: every check there is, but those that are known to fail.
# Between the kits the server is stopped and started again, and under one of them it is killed.
# Of gRPC, Java speaks it plain and Go over TLS; a few checks more are made over the ports of the name server and of the
# broker, the other way round for Go.
set -euo pipefail
cd "$(dirname "$0")/.."
. interop/server.sh
. interop/kits.sh
. "$JUDGE_DIR/env.sh"

newest_child() { # pid: the process at the end of the chain that it began
  local child
  child=$(pgrep -P "$1" | head -1) || true
  if [ -n "$child" ]; then newest_child "$child"; else echo "$1"; fi
}

# Kills the server and starts it again once some checks have passed. The kit stands still meanwhile: a client that is
# started while there is no server gives up, whatever the server.
run_kit_over_kill() { # kit
  local client
  start_kit "$1" 5
  client=$(newest_child "$KIT")
  kill -STOP "$client" 2> /dev/null || true
  stop_server KILL
  start_server
  kill -CONT "$client" 2> /dev/null || true
  wait "$KIT"
}

restart_server() {
  stop_server
  start_server
}

start_server
failed=0
# Not the Go client: it waits out the 30 s of its pulls that a kill leaves without an answer.
run_kit_over_kill java-remoting || failed=1
restart_server
run_kit go-remoting || failed=1
restart_server
run_kit java-grpc || failed=1
run_kit go-grpc || failed=1

export CHECKS="send-sync push-properties-keys-tag push-cluster push-fifo simple-receive-ack tx-commit-rollback-check"
GRPC_ENDPOINT="$NAMESRV_ADDR" run_kit java-grpc || failed=1
OPTIONS=(rocketmq.client.enableSsl=false)
GRPC_ENDPOINT="$BROKER_ADDR" run_kit go-grpc || failed=1
exit "$failed"
