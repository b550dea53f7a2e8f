#!/usr/bin/env bash
# The official Java and Go remoting clients. What RoxMQ doesn't serve yet is left out by name.
set -euo pipefail
cd "$(dirname "$0")/.."
. interop/server.sh

# java-remoting names not served yet: push-pop-mode delay-arbitrary delay-recall tx-commit-rollback-check
# filter-sql92 filter-sql92-bad-refused request-reply trace namespace priority-message
JAVA_CHECKS="send-sync send-async send-oneway send-to-queue-and-selector send-batch send-compressed-and-properties
  send-too-large-refused send-topic-auto-create send-user-topic-missing-queue-refused push-cluster
  push-rebalance-on-leave push-broadcast push-orderly delay-level filter-tag retry dlq
  send-message-back-api-dlq-level query-by-key query-by-id offsets pull-by-offset pull-long-polling lite-pull
  consumer-offset-survives-restart consume-from-last-and-timestamp reset-offset-online admin-consumer-views
  producer-connection-view topic-delete heartbeat-unsubscribe-group-offline"
# go-remoting names not served yet: delay-arbitrary-by-property tx-commit-rollback-check filter-sql92 request-reply
# trace
GO_CHECKS="send-sync send-async send-oneway send-batch send-compressed-and-properties send-topic-auto-create
  push-cluster push-broadcast push-orderly delay-level filter-tag retry dlq consumer-offset-survives-restart
  pull-consumer admin-topic-create-list-delete"

start_server
failed=0
CHECKS=$(echo $JAVA_CHECKS) "$JUDGE_DIR/clients/run.sh" java-remoting || failed=1
CHECKS=$(echo $GO_CHECKS) "$JUDGE_DIR/clients/run.sh" go-remoting || failed=1
exit "$failed"
