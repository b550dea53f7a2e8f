# Starts and stops `roxmq server` on loopback ports of its own; the other scripts source it.
# Sets NAMESRV_ADDR, BROKER_ADDR and GRPC_ENDPOINT, which the judge's programs read.

: "${ROXMQ:=$PWD/target/release/roxmq}"
: "${NAMESRV_PORT:=19876}"
: "${BROKER_PORT:=20911}"
: "${GRPC_PORT:=18081}"
export NAMESRV_PORT BROKER_PORT GRPC_PORT
export NAMESRV_ADDR="127.0.0.1:$NAMESRV_PORT" BROKER_ADDR="127.0.0.1:$BROKER_PORT"
export GRPC_ENDPOINT="127.0.0.1:$GRPC_PORT"

WORK="$(mktemp -d)"
SERVER_PID=

start_server() {
  "$ROXMQ" server --store "$WORK/store" --namesrv-port "$NAMESRV_PORT" --set "listenPort=$BROKER_PORT" \
    --set "grpcServerPort=$GRPC_PORT" --set bindAddress=127.0.0.1 --set brokerIP1=127.0.0.1 \
    --set transactionCheckInterval=5000 --set transactionTimeOut=6000 \
    >> "$WORK/server.out" 2>> "$WORK/server.log" &
  SERVER_PID=$!
  for _ in $(seq 100); do
    (exec 3<> "/dev/tcp/127.0.0.1/$BROKER_PORT") 2> /dev/null && return 0
    kill -0 "$SERVER_PID" 2> /dev/null || break
    sleep 0.1
  done
  echo "the server did not start:"; cat "$WORK/server.out" "$WORK/server.log"
  return 1
}

stop_server() { # [signal]
  [ -n "$SERVER_PID" ] || return 0
  kill "-${1:-TERM}" "$SERVER_PID" 2> /dev/null || true
  wait "$SERVER_PID" 2> /dev/null || true
  SERVER_PID=
}

trap 'stop_server KILL; rm -rf "$WORK"' EXIT
