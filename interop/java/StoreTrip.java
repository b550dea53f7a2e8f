import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import com.alibaba.fastjson.JSON;
import com.alibaba.fastjson.JSONObject;
import org.apache.rocketmq.client.QueryResult;
import org.apache.rocketmq.client.consumer.DefaultMQPullConsumer;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.PullResult;
import org.apache.rocketmq.client.consumer.PullStatus;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.exception.MQBrokerException;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.LocalTransactionState;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.client.producer.SendStatus;
import org.apache.rocketmq.client.producer.TransactionListener;
import org.apache.rocketmq.client.producer.TransactionMQProducer;
import org.apache.rocketmq.common.TopicConfig;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageClientExt;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;
import org.apache.rocketmq.common.UtilAll;
import org.apache.rocketmq.remoting.protocol.admin.ConsumeStats;
import org.apache.rocketmq.remoting.protocol.admin.OffsetWrapper;
import org.apache.rocketmq.remoting.protocol.admin.TopicOffset;
import org.apache.rocketmq.remoting.protocol.subscription.SubscriptionGroupConfig;
import org.apache.rocketmq.tools.admin.DefaultMQAdminExt;

/**
 * What a store holds, as the official client sees it: fills one, writes down everything in it, and goes on with it.
 *
 * <pre>
 * StoreTrip fill NAMESRV BROKER CLUSTER    topics, groups, messages, offsets
 * StoreTrip dump NAMESRV BROKER FILE       everything of them, one fact a line, in a fixed order
 * StoreTrip goon NAMESRV BROKER ROUND      consumes what a group has left, waits for the delayed messages of all
 *                                          rounds, decides on transactions when it is asked, sends to every queue, checks where the offsets go on
 * StoreTrip delay NAMESRV BROKER ROUND     a message that will come after the server has changed
 * StoreTrip halves NAMESRV BROKER ROUND    transactions that are committed, rolled back, and left undecided until the
 *                                          server has changed
 * StoreTrip settle NAMESRV BROKER STORE    waits until the offsets are in the files under STORE/config
 * </pre>
 *
 * Each command waits a bounded time for what it needs, and ends with 1 and one line on the first surprise.
 */
public class StoreTrip {
    static final String PLAIN = "TripPlain";
    static final String ORDERED = "TripOrdered";
    static final String BATCHED = "TripBatched";
    static final String DELAYED = "TripDelayed";
    static final String DECIDED = "TripDecided";
    static final String HALF_READ = "trip_half_read";
    static final String TUNED = "trip_tuned";
    static final String[] GROUPS = {HALF_READ, TUNED};
    static final int PLAIN_QUEUES = 4;
    static final int PLAIN_MESSAGES = 120;
    /** 30 s: longer than from the last send to the stop of the server. */
    static final int DELAY_LEVEL = 4;
    static final long WAIT_MS = 90_000;
    /** As the servers are configured: longer than the three seconds after which a Java server notes an end at the latest. */
    static final long CHECK_INTERVAL_MS = 8_000;

    final String nameServer;
    final String broker;
    /** What a producer was asked about. */
    final Set<String> decided = ConcurrentHashMap.newKeySet();
    final DefaultMQAdminExt admin = new DefaultMQAdminExt();

    StoreTrip(String nameServer, String broker) throws Exception {
        this.nameServer = nameServer;
        this.broker = broker;
        admin.setNamesrvAddr(nameServer);
        admin.setInstanceName("trip-" + System.nanoTime());
        admin.start();
    }

    public static void main(String[] args) throws Exception {
        try {
            StoreTrip trip = new StoreTrip(args[1], args[2]);
            switch (args[0]) {
                case "fill":
                    trip.fill(args[3]);
                    break;
                case "dump":
                    trip.dump(Path.of(args[3]));
                    break;
                case "goon":
                    trip.goOn(Integer.parseInt(args[3]));
                    break;
                case "delay":
                    trip.delay(Integer.parseInt(args[3]));
                    break;
                case "halves":
                    trip.halves(Integer.parseInt(args[3]));
                    break;
                case "settle":
                    trip.settle(Path.of(args[3], "config"));
                    break;
                default:
                    throw new Surprise("no command " + args[0]);
            }
            System.exit(0);
        } catch (Surprise surprise) {
            System.out.println(surprise.getMessage());
        } catch (Exception failure) {
            System.out.println(args[0] + " failed: " + failure);
            failure.printStackTrace();
        }
        System.exit(1);
    }

    // ---- fill ----

    void fill(String cluster) throws Exception {
        until("the broker is known to the name server", () ->
            admin.examineBrokerClusterInfo().getClusterAddrTable().containsKey(cluster));
        createTopic(PLAIN, PLAIN_QUEUES, Map.of());
        createTopic(ORDERED, 2, Map.of("+message.type", "FIFO"));
        createTopic(BATCHED, 1, Map.of());
        createTopic(DELAYED, 1, Map.of("+message.type", "DELAY"));
        createTopic(DECIDED, 1, Map.of("+message.type", "TRANSACTION"));
        createGroups();

        DefaultMQProducer producer = producer("trip_fill");
        for (int i = 0; i < PLAIN_MESSAGES; i++) {
            send(producer, plain(i), i % PLAIN_QUEUES);
        }
        for (int i = 0; i < 10; i++) {
            Message message = new Message(ORDERED, "step", "order-" + i, ("step " + i).getBytes(StandardCharsets.UTF_8));
            message.putUserProperty("__SHARDINGKEY", "account-" + i % 2);
            send(producer, message, i % 2);
        }
        List<Message> batch = new ArrayList<>();
        for (int i = 0; i < 16; i++) {
            batch.add(new Message(BATCHED, "b", "batch-" + i, ("item " + i).getBytes(StandardCharsets.UTF_8)));
        }
        expect("a batch is stored", SendStatus.SEND_OK, producer.send(batch).getSendStatus());

        commit(HALF_READ, PLAIN);
        commit(TUNED, ORDERED);
        producer.shutdown();
    }

    void createTopic(String name, int queues, Map<String, String> attributes) throws Exception {
        TopicConfig topic = new TopicConfig(name, queues, queues);
        topic.setAttributes(new HashMap<>(attributes));
        admin.createAndUpdateTopicConfig(broker, topic);
        until("the route of " + name, () -> !admin.examineTopicRouteInfo(name).getQueueDatas().isEmpty());
    }

    void createGroups() throws Exception {
        SubscriptionGroupConfig plain = new SubscriptionGroupConfig();
        plain.setGroupName(HALF_READ);
        admin.createAndUpdateSubscriptionGroupConfig(broker, plain);
        SubscriptionGroupConfig tuned = new SubscriptionGroupConfig();
        tuned.setGroupName(TUNED);
        tuned.setRetryMaxTimes(3);
        tuned.setRetryQueueNums(2);
        tuned.setConsumeBroadcastEnable(false);
        tuned.setConsumeMessageOrderly(true);
        tuned.setNotifyConsumerIdsChangedEnable(false);
        admin.createAndUpdateSubscriptionGroupConfig(broker, tuned);
    }

    /** Small, large (compressed by the client), text and bytes, with and without tags, keys, properties. */
    static Message plain(int i) {
        byte[] body = ("message " + i + " ").repeat(i % 10 == 9 ? 800 : 1 + i % 7).getBytes(StandardCharsets.UTF_8);
        Message message = new Message(PLAIN, i % 3 == 0 ? null : "Tag" + i % 3, body);
        message.setFlag(i);
        if (i % 2 == 0) {
            message.setKeys(List.of("key-" + i, "even"));
        }
        if (i % 5 == 0) {
            message.putUserProperty("größe", "Ünïcode — 消息 " + i);
            message.putUserProperty("n", Integer.toString(i));
        }
        return message;
    }

    /** Another offset in each queue, the first at its end. */
    void commit(String group, String topic) throws Exception {
        for (Map.Entry<MessageQueue, TopicOffset> queue : admin.examineTopicStats(topic).getOffsetTable().entrySet()) {
            long behind = queue.getKey().getQueueId() * 3L;
            long offset = Math.max(0, queue.getValue().getMaxOffset() - behind);
            admin.updateConsumeOffset(broker, group, queue.getKey(), offset);
        }
    }

    // ---- dump ----

    void dump(Path file) throws Exception {
        until("the route of " + PLAIN, () -> !admin.examineTopicRouteInfo(PLAIN).getQueueDatas().isEmpty());
        try (PrintWriter out = new PrintWriter(Files.newBufferedWriter(file))) {
            dumpTopics(out);
            dumpGroups(out);
            List<MessageExt> messages = new ArrayList<>();
            DefaultMQPullConsumer reader = reader();
            for (String topic : new String[] {BATCHED, ORDERED, PLAIN}) {
                dumpQueues(out, reader, topic, messages);
            }
            dumpKeys(out, messages);
            reader.shutdown();
        }
    }

    void dumpTopics(PrintWriter out) throws Exception {
        Map<String, TopicConfig> topics = new TreeMap<>(
            admin.getAllTopicConfig(broker, WAIT_MS).getTopicConfigTable());
        for (TopicConfig topic : topics.values()) {
            if (topic.getTopicName().startsWith("Trip") || topic.getTopicName().startsWith("%RETRY%trip_")) {
                out.println("topic " + topic.getTopicName() + " read " + topic.getReadQueueNums() + " write "
                    + topic.getWriteQueueNums() + " perm " + topic.getPerm() + " sysFlag " + topic.getTopicSysFlag()
                    + " order " + topic.isOrder() + " attributes " + new TreeMap<>(topic.getAttributes()));
            }
        }
    }

    void dumpGroups(PrintWriter out) throws Exception {
        Map<String, SubscriptionGroupConfig> groups =
            admin.getAllSubscriptionGroup(broker, WAIT_MS).getSubscriptionGroupTable();
        for (String name : GROUPS) {
            out.println("group " + groups.get(name));
            for (String topic : new String[] {ORDERED, PLAIN}) {
                dumpOffsets(out, name, topic);
            }
        }
    }

    void dumpOffsets(PrintWriter out, String group, String topic) throws Exception {
        ConsumeStats stats;
        try {
            stats = admin.examineConsumeStats(broker, group, topic, WAIT_MS);
        } catch (MQBrokerException none) {
            out.println("offsets " + group + " " + topic + " none");
            return;
        }
        Map<MessageQueue, OffsetWrapper> sorted = new TreeMap<>(stats.getOffsetTable());
        sorted.forEach((queue, offset) -> out.println("offset " + group + " " + topic + " " + queue.getQueueId() + " consumed "
            + offset.getConsumerOffset() + " of " + offset.getBrokerOffset() + " last " + offset.getLastTimestamp()));
    }

    void dumpQueues(PrintWriter out, DefaultMQPullConsumer reader, String topic, List<MessageExt> messages) throws Exception {
        Map<MessageQueue, TopicOffset> queues = new TreeMap<>(admin.examineTopicStats(topic).getOffsetTable());
        for (Map.Entry<MessageQueue, TopicOffset> entry : queues.entrySet()) {
            MessageQueue queue = entry.getKey();
            long min = entry.getValue().getMinOffset();
            long max = entry.getValue().getMaxOffset();
            out.println("queue " + topic + " " + queue.getQueueId() + " from " + min + " to " + max
                + " updated " + entry.getValue().getLastUpdateTimestamp());
            for (long offset = min; offset < max; ) {
                PullResult pulled = reader.pull(queue, "*", offset, 32);
                expect("pull of " + queue + " at " + offset, PullStatus.FOUND, pulled.getPullStatus());
                for (MessageExt message : pulled.getMsgFoundList()) {
                    expect("the next offset of " + queue, offset++, message.getQueueOffset());
                    out.println(line(message));
                    messages.add(message);
                }
            }
        }
    }

    /** Each message again by its place, by its unique key and by its keys. */
    void dumpKeys(PrintWriter out, List<MessageExt> messages) throws Exception {
        Set<String> keys = new TreeSet<>();
        for (int i = 0; i < messages.size(); i += 7) {
            MessageExt message = messages.get(i);
            out.println("id " + line(admin.viewMessage(message.getTopic(), offsetId(message))));
            out.println("unique " + line(admin.viewMessage(message.getTopic(), message.getMsgId())));
        }
        for (MessageExt message : messages) {
            if (message.getKeys() != null) {
                for (String key : message.getKeys().split(" ")) {
                    keys.add(message.getTopic() + "/" + key);
                }
            }
        }
        for (String key : keys) {
            String[] parts = key.split("/", 2);
            QueryResult found = admin.queryMessage(parts[0], parts[1], 256, 0, System.currentTimeMillis() + 60_000);
            Set<String> ids = new TreeSet<>();
            found.getMessageList().forEach(message -> ids.add(message.getMsgId() + "@" + message.getCommitLogOffset()));
            out.println("key " + key + " " + ids.size() + " " + ids);
        }
    }

    static String offsetId(MessageExt message) {
        return ((MessageClientExt) message).getOffsetMsgId();
    }

    /** All that a record says. The client adds the two offsets of the queue, which are no part of it. */
    static String line(MessageExt message) {
        Map<String, String> properties = new TreeMap<>(message.getProperties());
        properties.remove("MIN_OFFSET");
        properties.remove("MAX_OFFSET");
        return "message " + message.getTopic() + " " + message.getQueueId() + " " + message.getQueueOffset() + " at "
            + message.getCommitLogOffset() + " id " + offsetId(message) + " unique " + message.getMsgId()
            + " flag " + message.getFlag() + " sysFlag " + message.getSysFlag() + " born " + message.getBornTimestamp()
            + "@" + message.getBornHostString() + " stored " + message.getStoreTimestamp() + "@" + message.getStoreHost()
            + " again " + message.getReconsumeTimes() + " crc " + message.getBodyCRC()
            + " body " + message.getBody().length + ":" + UtilAll.crc32(message.getBody()) + " properties " + properties;
    }

    // ---- go on ----

    void goOn(int round) throws Exception {
        until("the route of " + PLAIN, () -> !admin.examineTopicRouteInfo(PLAIN).getQueueDatas().isEmpty());
        consumeTheRest();
        awaitDelayed(round + 1);
        awaitDecided(round);
        DefaultMQProducer producer = producer("trip_on");
        for (String topic : new String[] {PLAIN, ORDERED, BATCHED}) {
            Map<MessageQueue, TopicOffset> queues = admin.examineTopicStats(topic).getOffsetTable();
            for (Map.Entry<MessageQueue, TopicOffset> queue : queues.entrySet()) {
                Message message = new Message(topic, "on", "on-" + round, ("on " + round).getBytes(StandardCharsets.UTF_8));
                SendResult sent = producer.send(message, queue.getKey());
                expect("the next offset of " + queue.getKey(), queue.getValue().getMaxOffset(), sent.getQueueOffset());
            }
        }
        producer.shutdown();
    }

    /** A consumer of the half-read group gets what lies past its offsets, and nothing before. */
    void consumeTheRest() throws Exception {
        Map<Integer, Long> next = new HashMap<>();
        long expected = 0;
        for (Map.Entry<MessageQueue, OffsetWrapper> queue :
            admin.examineConsumeStats(broker, HALF_READ, PLAIN, WAIT_MS).getOffsetTable().entrySet()) {
            next.put(queue.getKey().getQueueId(), queue.getValue().getConsumerOffset());
            expected += queue.getValue().getBrokerOffset() - queue.getValue().getConsumerOffset();
        }
        Set<String> got = ConcurrentHashMap.newKeySet();
        Set<String> wrong = ConcurrentHashMap.newKeySet();
        AtomicInteger count = new AtomicInteger();
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer(HALF_READ);
        consumer.setNamesrvAddr(nameServer);
        consumer.setInstanceName("rest-" + System.nanoTime());
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.subscribe(PLAIN, "*");
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            for (MessageExt message : messages) {
                String place = message.getQueueId() + ":" + message.getQueueOffset();
                if (message.getQueueOffset() < next.get(message.getQueueId()) || !got.add(place)) {
                    wrong.add(place);
                }
                count.incrementAndGet();
            }
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        consumer.start();
        long wanted = expected;
        until("the group gets its " + wanted + " messages", () -> count.get() >= wanted);
        consumer.shutdown();
        expect("messages that the group had already", new HashSet<String>(), wrong);
        expect("messages for the group", wanted, (long) count.get());
    }

    void delay(int round) throws Exception {
        DefaultMQProducer producer = producer("trip_delay");
        Message message = new Message(DELAYED, "d", "delayed-" + round, ("late " + round).getBytes(StandardCharsets.UTF_8));
        message.setDelayTimeLevel(DELAY_LEVEL);
        expect("a delayed message is stored", SendStatus.SEND_OK, producer.send(message).getSendStatus());
        producer.shutdown();
    }

    /** Every delayed message comes, once and in order. */
    void awaitDelayed(int count) throws Exception {
        until("delayed message " + (count - 1), () -> maxOffset(DELAYED) >= count);
        DefaultMQPullConsumer reader = reader();
        List<String> bodies = new ArrayList<>();
        List<String> expected = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            expected.add("late " + i);
        }
        for (MessageQueue queue : reader.fetchSubscribeMessageQueues(DELAYED)) {
            for (MessageExt message : reader.pull(queue, "*", 0, 32).getMsgFoundList()) {
                bodies.add(new String(message.getBody(), StandardCharsets.UTF_8));
            }
        }
        reader.shutdown();
        expect("delayed messages", expected, bodies);
    }

    // ---- transactions ----

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

    /** What was decided before the server changed is not decided again; what was left is, once the producer is asked. */
    void awaitDecided(int round) throws Exception {
        List<String> expected = new ArrayList<>();
        for (int r = 0; r <= round; r++) {
            for (int i = 0; i < 3; i++) {
                expected.add("commit " + r + " " + i);
                expected.add("later-commit " + r + " " + i);
            }
        }
        TransactionMQProducer producer = decider();
        until("transactions to be asked about", () -> maxOffset(DECIDED) >= expected.size() && decided.size() >= 6);
        // Whatever comes twice comes within the next rounds of checks.
        Thread.sleep(2 * CHECK_INTERVAL_MS);
        producer.shutdown();
        DefaultMQPullConsumer reader = reader();
        List<String> bodies = new ArrayList<>();
        for (MessageQueue queue : reader.fetchSubscribeMessageQueues(DECIDED)) {
            for (long offset = 0; offset < maxOffset(DECIDED); offset = bodies.size()) {
                for (MessageExt message : reader.pull(queue, "*", offset, 32).getMsgFoundList()) {
                    bodies.add(new String(message.getBody(), StandardCharsets.UTF_8));
                }
            }
        }
        reader.shutdown();
        bodies.sort(null);
        expected.sort(null);
        expect("messages of transactions", expected, bodies);
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

    // ---- settle ----

    /** A killed server gives the next one what its files say, so wait until they say all. */
    void settle(Path config) throws Exception {
        for (String group : GROUPS) {
            for (String topic : new String[] {PLAIN, ORDERED}) {
                Map<MessageQueue, OffsetWrapper> offsets = consumed(group, topic);
                until("offsets of " + group + " in " + config, () -> inFile(config, group, topic, offsets));
            }
        }
        long delivered = maxOffset(DELAYED);
        until("the progress of delay level " + DELAY_LEVEL + " in " + config, () -> {
            JSONObject table = table(config.resolve("delayOffset.json"));
            return delivered == 0 || table.getLongValue(Integer.toString(DELAY_LEVEL)) == delivered;
        });
    }

    Map<MessageQueue, OffsetWrapper> consumed(String group, String topic) throws Exception {
        try {
            return admin.examineConsumeStats(broker, group, topic, WAIT_MS).getOffsetTable();
        } catch (MQBrokerException none) {
            return Map.of();
        }
    }

    static boolean inFile(Path config, String group, String topic, Map<MessageQueue, OffsetWrapper> offsets) throws Exception {
        JSONObject queues = table(config.resolve("consumerOffset.json")).getJSONObject(topic + "@" + group);
        for (Map.Entry<MessageQueue, OffsetWrapper> queue : offsets.entrySet()) {
            String id = Integer.toString(queue.getKey().getQueueId());
            long offset = queue.getValue().getConsumerOffset();
            if (offset > 0 && (queues == null || queues.getLongValue(id) != offset)) {
                return false;
            }
        }
        return true;
    }

    static JSONObject table(Path file) throws Exception {
        return JSON.parseObject(Files.readString(file)).getJSONObject("offsetTable");
    }

    long maxOffset(String topic) throws Exception {
        return admin.examineTopicStats(topic).getOffsetTable().values().stream().mapToLong(TopicOffset::getMaxOffset).sum();
    }

    // ---- small parts ----

    DefaultMQProducer producer(String group) throws Exception {
        DefaultMQProducer producer = new DefaultMQProducer(group);
        producer.setNamesrvAddr(nameServer);
        producer.setInstanceName(group + "-" + System.nanoTime());
        producer.setRetryTimesWhenSendFailed(0);
        producer.start();
        return producer;
    }

    DefaultMQPullConsumer reader() throws Exception {
        DefaultMQPullConsumer reader = new DefaultMQPullConsumer("ledger_reader");
        reader.setNamesrvAddr(nameServer);
        reader.setInstanceName("reader-" + System.nanoTime());
        reader.start();
        return reader;
    }

    void send(DefaultMQProducer producer, Message message, int queueId) throws Exception {
        String name = admin.examineTopicRouteInfo(message.getTopic()).getQueueDatas().get(0).getBrokerName();
        SendResult sent = producer.send(message, new MessageQueue(message.getTopic(), name, queueId));
        expect("a message is stored", SendStatus.SEND_OK, sent.getSendStatus());
    }

    interface Condition {
        boolean holds() throws Exception;
    }

    static void until(String what, Condition condition) throws Exception {
        long end = System.currentTimeMillis() + WAIT_MS;
        Exception last = null;
        while (System.currentTimeMillis() < end) {
            try {
                if (condition.holds()) {
                    return;
                }
            } catch (Exception notYet) {
                last = notYet;
            }
            Thread.sleep(100);
        }
        throw new Surprise("waited " + WAIT_MS + " ms in vain: " + what + (last == null ? "" : " (" + last + ")"));
    }

    static void expect(String what, Object expected, Object got) {
        if (!expected.equals(got)) {
            throw new Surprise(what + ": expected " + expected + ", got " + got);
        }
    }

    static class Surprise extends RuntimeException {
        Surprise(String message) {
            super(message);
        }
    }
}
