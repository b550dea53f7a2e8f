#!/usr/bin/env bash
# The server is stopped, and later killed, under the official Java gRPC client: a producer, a push consumer and a
# simple consumer go on by themselves when it is there again, and every message whose send was answered reaches both.
set -euo pipefail
cd "$(dirname "$0")/.."
. interop/server.sh
. "$JUDGE_DIR/env.sh"

CLIENT="$JUDGE_HOME/build/java-grpc"
if [ ! -d "$CLIENT/lib" ]; then
  mkdir -p "$CLIENT"
  cp "$JUDGE_DIR/clients/java-grpc/pom.xml" "$CLIENT/pom.xml"
  (cd "$CLIENT" && mvn -q -B dependency:copy-dependencies -DoutputDirectory=lib)
fi
javac -nowarn -cp "$CLIENT/lib/*" -d "$WORK/classes" interop/grpc/Restarts.java

start_server
judge_mqadmin updateTopic -n "$NAMESRV_ADDR" -c DefaultCluster -t Restarts -r 4 -w 4 > /dev/null
: > "$WORK/restarts.out"
java -Xmx256m -Duser.home="$WORK" -cp "$WORK/classes:$CLIENT/lib/*" Restarts "$GRPC_ENDPOINT" Restarts "$WORK/stop" \
  > "$WORK/restarts.out" 2> "$WORK/restarts.err" &
CLIENT_PID=$!
until grep -q sending "$WORK/restarts.out"; do
  kill -0 "$CLIENT_PID" || { cat "$WORK/restarts.out" "$WORK/restarts.err"; exit 1; }
  sleep 0.2
done
for signal in TERM KILL; do
  sleep 5
  stop_server "$signal"
  sleep 2
  start_server
done
sleep 5
touch "$WORK/stop"
status=0
wait "$CLIENT_PID" || status=$?
grep -v sending "$WORK/restarts.out" || tail -20 "$WORK/restarts.err"
exit "$status"
