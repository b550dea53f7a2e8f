# The official clients' kits of checks: how one is run, and when it has failed. The scripts that run them source it, and
# set WORK.

# Checks that fail by the client's own fault, with any server.
declare -A KNOWN_TO_FAIL=(
  # The Go client itself delivers the message that was refused last of its group.
  [go-grpc]="push-fifo-with-failure"
)
OPTIONS=() # variables for the client that are no names for the shell

# A check that fails is run once more by itself: on a busy machine one of them now and then misses its time, against
# any server.
run_kit() { # kit
  local kit="$1" again
  env "${OPTIONS[@]}" "$JUDGE_DIR/clients/run.sh" "$kit" | tee "$WORK/$kit" && return 0
  # A kit that didn't come to its last line has more wrong with it than single checks.
  grep -q "^$kit: [0-9]* passed" "$WORK/$kit" || return 1
  again=$(sed -n "s/^$kit: FAIL \([^ ]*\).*/\1/p" "$WORK/$kit" | while read -r name; do
    case " ${KNOWN_TO_FAIL[$kit]:-} " in
      *" $name "*) ;;
      *) echo "$name" ;;
    esac
  done)
  [ -n "$again" ] || return 0
  echo "$kit: once more:" $again
  CHECKS=$(echo $again) env "${OPTIONS[@]}" "$JUDGE_DIR/clients/run.sh" "$kit"
}

# Starts a kit, the process KIT, and returns when so many of its checks have passed, or when it is over.
start_kit() { # kit checks
  local log="$JUDGE_HOME/results/client-$1.log" passed
  rm -f "$log"
  run_kit "$1" &
  KIT=$!
  for _ in $(seq 3000); do
    passed=$(grep -cs '^ok' "$log") || true
    [ "${passed:-0}" -lt "$2" ] && kill -0 "$KIT" 2> /dev/null || break
    sleep 0.1
  done
}
