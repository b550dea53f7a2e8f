import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.rocketmq.client.producer.LocalTransactionState;
import org.apache.rocketmq.client.producer.SendStatus;
import org.apache.rocketmq.client.producer.TransactionListener;
import org.apache.rocketmq.client.producer.TransactionMQProducer;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;

/** Transactions that are committed, rolled back, and left undecided until the server has changed. */
class Transactions extends Trip {
    static final String DECIDED = "TripDecided";
    /** As the servers are configured: longer than the three seconds after which a Java server notes an end at the latest. */
    static final long CHECK_INTERVAL_MS = 8_000;

    /** What a producer was asked about. */
    final Set<String> decided = ConcurrentHashMap.newKeySet();
    volatile long lastAsked;

    Transactions(Trip other) {
        super(other);
    }

    void halves(int round) throws Exception {
        TransactionMQProducer producer = decider();
        for (String fate : new String[] {"commit", "rollback", "later-commit", "later-rollback"}) {
            for (int i = 0; i < 3; i++) {
                Message message = new Message(DECIDED, "t", (fate + " " + round + " " + i).getBytes(StandardCharsets.UTF_8));
                expect("a half message is stored", SendStatus.SEND_OK, producer.sendMessageInTransaction(message, null).getSendStatus());
            }
        }
        long committed = 3 + (round == 0 ? 0 : round * 6L);
        until("the " + committed + " commits", () -> maxOffset(DECIDED) >= committed);
        producer.shutdown();
    }

    /**
     * What was decided before the server changed is not decided again; what was left is, once the producer is asked. All
     * that was decided is also noted by the server before, but for a Java server: then nobody is asked about it.
     */
    void awaitDecided(int round, boolean noted) throws Exception {
        List<String> expected = new ArrayList<>();
        for (int r = 0; r <= round; r++) {
            for (int i = 0; i < 3; i++) {
                expected.add("commit " + r + " " + i);
                expected.add("later-commit " + r + " " + i);
            }
        }
        until("transactions to be asked about", () -> maxOffset(DECIDED) >= expected.size() && decided.size() >= 6);
        // Whatever comes twice comes within the next rounds of checks.
        Thread.sleep(Math.max(0, lastAsked + 2 * CHECK_INTERVAL_MS - System.currentTimeMillis()));
        expect("messages of transactions", sorted(expected), sorted(bodies(readAll(DECIDED))));
        if (noted) {
            List<String> again = new ArrayList<>(decided);
            again.removeIf(body -> body.startsWith("later"));
            expect("decided transactions that were asked about again", List.of(), sorted(again));
        }
    }

    TransactionMQProducer decider() throws Exception {
        TransactionMQProducer producer = new TransactionMQProducer("trip_decider");
        producer.setNamesrvAddr(nameServer);
        producer.setInstanceName("decider-" + System.nanoTime());
        producer.setTransactionListener(new TransactionListener() {
            @Override
            public LocalTransactionState executeLocalTransaction(Message message, Object argument) {
                String body = new String(message.getBody(), StandardCharsets.UTF_8);
                return body.startsWith("later") ? LocalTransactionState.UNKNOW : fate(body);
            }

            @Override
            public LocalTransactionState checkLocalTransaction(MessageExt message) {
                String body = new String(message.getBody(), StandardCharsets.UTF_8);
                decided.add(body);
                lastAsked = System.currentTimeMillis();
                return fate(body);
            }
        });
        producer.start();
        // The broker knows a producer by its heartbeat, which goes to the brokers of topics that it knows.
        producer.getDefaultMQProducerImpl().getMqClientFactory().updateTopicRouteInfoFromNameServer(DECIDED);
        producer.getDefaultMQProducerImpl().getMqClientFactory().sendHeartbeatToAllBrokerWithLock();
        return producer;
    }

    static LocalTransactionState fate(String body) {
        return body.contains("commit") ? LocalTransactionState.COMMIT_MESSAGE : LocalTransactionState.ROLLBACK_MESSAGE;
    }
}
