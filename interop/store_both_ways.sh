#!/usr/bin/env bash
# Proves that a store changes hands: one written by Java RocketMQ 5.5.0 is served by RoxMQ and the other way round,
# after a clean stop and after kill -9, with the same messages, offsets, groups and topics; then the second server
# goes on with it and hands it back. What is under way at the change comes on the other server: delayed and timer
# messages, undecided transactions, and messages that were popped and not acknowledged.
#
#   store_both_ways.sh [WRITER:READER:STOP...]     java or roxmq, clean or kill; all four ways by default
#
# The ways run side by side, as most of their time is waiting.
#
# Both servers run on configuration files with the same file sizes, on free loopback ports. The judge's folder with
# the Java server is JUDGE_DIR (beside the checkout by default), the binary is ROXMQ (target/release/roxmq).
set -euo pipefail
cd "$(dirname "$0")"
JUDGE_DIR="${JUDGE_DIR:-$(cd .. && pwd)/../shared/judge}"
ROXMQ="${ROXMQ:-$(cd .. && pwd)/target/release/roxmq}"
. "$JUDGE_DIR/env.sh"

CLUSTER=TripCluster
BROKER=trip-broker
WORK="$(mktemp -d)"
PIDS=()    # of the servers of one way that run: name server first

fail() { echo "store_both_ways: $WAY: $*"; exit 1; }

finish() {
  local status=$?
  if [ "$status" -eq 0 ]; then rm -rf "$WORK"; else echo "store_both_ways: its files are in $WORK"; fi
}
trap finish EXIT

# ---- the servers ----

listens() { (exec 3<> "/dev/tcp/127.0.0.1/$1") 2> /dev/null; }

# A broker takes three ports around its own. Ways that run side by side pick from ranges of their own.
pick_ports() { # number of the way
  local tries
  for tries in $(seq 50); do
    BROKER_PORT=$((20000 + $1 * 3000 + RANDOM % 2900))
    NAMESRV_PORT=$((BROKER_PORT + 10))
    GRPC_PORT=$((BROKER_PORT + 20))
    local port free=yes
    for port in "$BROKER_PORT" $((BROKER_PORT - 2)) $((BROKER_PORT + 1)) "$NAMESRV_PORT" "$GRPC_PORT"; do
      if listens "$port"; then free=no; fi
    done
    if [ "$free" = yes ]; then return; fi
  done
  fail "no free ports after $tries tries"
}

broker_conf() { # file
  cat > "$1" <<CONF
brokerClusterName=$CLUSTER
brokerName=$BROKER
brokerId=0
brokerIP1=127.0.0.1
listenPort=$BROKER_PORT
namesrvAddr=127.0.0.1:$NAMESRV_PORT
storePathRootDir=$STORE
storePathCommitLog=$STORE/commitlog
mappedFileSizeCommitLog=134217728
mappedFileSizeConsumeQueue=600000
mappedFileSizeTimerLog=10485760
maxIndexNum=200000
maxHashSlotNum=50000
flushDiskType=ASYNC_FLUSH
transactionTimeOut=3000
transactionCheckInterval=8000
transactionCheckMax=1000
waitTimeMillsInSendQueue=10000
CONF
}

await_port() { # port pid log
  local n
  for n in $(seq 600); do
    if listens "$1"; then return; fi
    if ! kill -0 "$2" 2> /dev/null; then break; fi
    sleep 0.1
  done
  tail -n 20 "$3"
  fail "nothing listens on port $1 after $((n / 10)) s"
}

start_java() {
  mkdir -p "$HERE/java/conf"
  judge_quiet_logback "$HERE/java/conf/logback.xml" WARN "$HERE/java/server.log"
  printf 'listenPort=%s\nrocketmqHome=%s\nkvConfigPath=%s/kvConfig.json\n' "$NAMESRV_PORT" "$HERE/java" "$HERE/java" > "$HERE/java/conf/namesrv.conf"
  broker_conf "$HERE/java/conf/broker.conf"
  start_jvm namesrv org.apache.rocketmq.namesrv.NamesrvStartup -c "$HERE/java/conf/namesrv.conf"
  await_port "$NAMESRV_PORT" "${PIDS[-1]}" "$HERE/java/namesrv.out"
  start_jvm broker org.apache.rocketmq.broker.BrokerStartup -c "$HERE/java/conf/broker.conf"
  await_port "$BROKER_PORT" "${PIDS[-1]}" "$HERE/java/broker.out"
}

start_jvm() { # name main args...
  local name="$1"; shift
  # shellcheck disable=SC2086 — JAVA_OPENS is many words.
  ROCKETMQ_HOME="$HERE/java" java -Xms128m -Xmx512m -XX:+UseSerialGC -XX:MaxDirectMemorySize=512m $JAVA_OPENS \
    -Duser.home="$HERE/java" -Drmq.logback.configurationFile="$HERE/java/conf/logback.xml" \
    -cp "$HERE/java/conf:$JUDGE_LIB/*" "$@" > "$HERE/java/$name.out" 2>&1 &
  PIDS+=($!)
  disown    # Or the shell would tell of every kill.
}

start_roxmq() {
  broker_conf "$HERE/roxmq.conf"
  printf 'grpcServerPort=%s\nbindAddress=127.0.0.1\n' "$GRPC_PORT" >> "$HERE/roxmq.conf"
  "$ROXMQ" server -c "$HERE/roxmq.conf" --store "$STORE" --namesrv-port "$NAMESRV_PORT" > "$HERE/roxmq.out" 2>&1 &
  PIDS+=($!)
  disown
  await_port "$BROKER_PORT" "${PIDS[-1]}" "$HERE/roxmq.out"
}

# The broker is the last that was started; the name server only follows it.
stop_servers() { # clean|kill
  local i pid n signal=TERM
  if [ "$1" = kill ]; then signal=KILL; fi
  for ((i = ${#PIDS[@]} - 1; i >= 0; i--)); do
    pid="${PIDS[$i]}"
    kill "-$signal" "$pid" 2> /dev/null || true
    for n in $(seq 600); do
      if ! kill -0 "$pid" 2> /dev/null; then break; fi
      if [ "$n" = 600 ]; then kill -KILL "$pid"; PIDS=(); fail "process $pid did not stop within 60 s"; fi
      sleep 0.1
    done
  done
  PIDS=()
}

# ---- the proof ----

trip() { # command argument...
  timeout 300 java -Xmx256m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 $JAVA_OPENS -Drocketmq.client.logUseSlf4j=true \
    -Drmq.logback.configurationFile="$WORK/quiet.xml" -Duser.home="$HERE" -cp "$WORK/classes:$JUDGE_LIB/*" \
    StoreTrip "127.0.0.1:$NAMESRV_PORT" "127.0.0.1:$BROKER_PORT" "$@" ||
    fail "$SERVER: $* failed"
}

# The next server finds what the one before had.
hand_over() { # from to round
  local leave=(dump "$HERE/$1.before") goon=(goon "$3")
  if [ "$1" = java ]; then goon=(gooncut "$3"); fi
  # What RoxMQ has in flight is left to a Java server by a clean stop only.
  if [ "$1:$STOP" != roxmq:kill ]; then leave+=(pop "$3"); goon+=(popped "$3"); fi
  if [ "$STOP" = kill ]; then leave+=(settle "$STORE"); fi
  trip "${leave[@]}" delay "$3" halves "$3"
  stop_servers "$STOP"
  SERVER="$2"
  "start_$2"
  trip dump "$HERE/$2.after"
  if ! diff -u "$HERE/$1.before" "$HERE/$2.after" > "$HERE/diff"; then
    sed -n '/^[-+][^-+]/p' "$HERE/diff" | head -n 4
    fail "what $2 finds (+) differs from what $1 had (-), first lines above"
  fi
  trip "${goon[@]}"
}

one_way() { # number writer reader stop
  WAY="$2 to $3 after $([ "$4" = kill ] && echo 'kill -9' || echo 'a clean stop')"
  STOP="$4"
  HERE="$WORK/$1"
  STORE="$HERE/store"
  mkdir -p "$STORE"
  trap 'stop_servers kill' EXIT
  pick_ports "$1"
  SERVER="$2"
  "start_$2"
  local fill=fill
  if [ "$2" = roxmq ]; then fill=fillbatches; fi
  trip "$fill" "$CLUSTER"
  hand_over "$2" "$3" 0
  hand_over "$3" "$2" 1
  stop_servers clean
  echo "store_both_ways: $WAY and back: the same $(grep -c ^message "$HERE/$2.after") messages"
}

WAY=setup
judge_fetch_jars || fail "no jars of the Java server in $JUDGE_LIB"
judge_quiet_logback "$WORK/quiet.xml"
mkdir -p "$WORK/classes"
javac -nowarn -Xlint:none -cp "$JUDGE_LIB/*" -d "$WORK/classes" java/*.java 2> "$WORK/javac" || { cat "$WORK/javac"; fail "the trip does not compile"; }
[ $# -gt 0 ] || set -- java:roxmq:clean java:roxmq:kill roxmq:java:clean roxmq:java:kill
runs=()
for way in "$@"; do
  IFS=: read -r writer reader stop <<< "$way"
  (one_way "${#runs[@]}" "$writer" "$reader" "$stop") &
  runs+=($!)
done
status=0
for run in "${runs[@]}"; do wait "$run" || status=1; done
exit "$status"
