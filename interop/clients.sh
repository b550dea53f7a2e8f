#!/usr/bin/env bash
# The official Java and Go clients, over remoting and over gRPC: every check there is, but those named as known to
# fail. A check that fails is run once more by itself: on a busy machine one of them now and then misses its time,
# against any server. Between the kits the server is stopped and started again, and under one of them it is killed.
# Of gRPC, Java speaks it plain and Go over TLS; a few checks more are made over the ports of the name server and of the
# broker, the other way round for Go.
set -euo pipefail
cd "$(dirname "$0")/.."
. interop/server.sh
. "$JUDGE_DIR/env.sh"

OPTIONS=() # variables for the client that are no names for the shell

run_kit() { # kit [check known to fail]...
  local kit="$1" again
  shift
  env "${OPTIONS[@]}" "$JUDGE_DIR/clients/run.sh" "$kit" | tee "$WORK/$kit" && return 0
  # A kit that didn't come to its last line has more wrong with it than single checks.
  grep -q "^$kit: [0-9]* passed" "$WORK/$kit" || return 1
  again=$(sed -n "s/^$kit: FAIL \([^ ]*\).*/\1/p" "$WORK/$kit" | while read -r name; do
    case " $* " in
      *" $name "*) ;;
      *) echo "$name" ;;
    esac
  done)
  [ -n "$again" ] || return 0
  echo "$kit: once more:" $again
  CHECKS=$(echo $again) env "${OPTIONS[@]}" "$JUDGE_DIR/clients/run.sh" "$kit"
}

newest_child() { # pid: the process at the end of the chain that it began
  local child
  child=$(pgrep -P "$1" | head -1) || true
  if [ -n "$child" ]; then newest_child "$child"; else echo "$1"; fi
}

# Kills the server and starts it again once some checks have passed. The kit stands still meanwhile: a client that is
# started while there is no server gives up, whatever the server.
run_kit_over_kill() { # kit
  local log="$JUDGE_HOME/results/client-$1.log" kit client passed
  rm -f "$log"
  run_kit "$1" &
  kit=$!
  for _ in $(seq 3000); do
    passed=$(grep -cs '^ok' "$log") || true
    [ "${passed:-0}" -lt 5 ] && kill -0 "$kit" 2> /dev/null || break
    sleep 0.1
  done
  client=$(newest_child "$kit")
  kill -STOP "$client" 2> /dev/null || true
  stop_server KILL
  start_server
  kill -CONT "$client" 2> /dev/null || true
  wait "$kit"
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
# The Go client itself delivers the message that was refused last of its group, with any server.
run_kit go-grpc push-fifo-with-failure || failed=1

export CHECKS="send-sync push-properties-keys-tag push-cluster push-fifo simple-receive-ack tx-commit-rollback-check"
GRPC_ENDPOINT="$NAMESRV_ADDR" run_kit java-grpc || failed=1
OPTIONS=(rocketmq.client.enableSsl=false)
GRPC_ENDPOINT="$BROKER_ADDR" run_kit go-grpc || failed=1
exit "$failed"
