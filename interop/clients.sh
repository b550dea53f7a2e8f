#!/usr/bin/env bash
# The official Java and Go clients, over remoting and over gRPC: every check there is, but those named as known to
# fail. A check that fails is run once more by itself: on a busy machine one of them now and then misses its time,
# against any server.
set -euo pipefail
cd "$(dirname "$0")/.."
. interop/server.sh

run_kit() { # kit [check known to fail]...
  local kit="$1" again
  shift
  "$JUDGE_DIR/clients/run.sh" "$kit" | tee "$WORK/$kit" && return 0
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
  CHECKS=$(echo $again) "$JUDGE_DIR/clients/run.sh" "$kit"
}

start_server
failed=0
run_kit java-remoting || failed=1
run_kit go-remoting || failed=1
run_kit java-grpc || failed=1
# The Go client itself delivers the message that was refused last of its group, with any server.
run_kit go-grpc push-fifo-with-failure || failed=1
exit "$failed"
