import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.client.producer.SendStatus;
import org.apache.rocketmq.client.producer.TransactionMQProducer;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;
import org.apache.rocketmq.remoting.protocol.admin.OffsetWrapper;
import org.apache.rocketmq.remoting.protocol.admin.TopicOffset;
import org.apache.rocketmq.remoting.protocol.subscription.SubscriptionGroupConfig;

/**
 * What a store holds, as the official client sees it: fills one, writes down everything in it, and goes on with it.
 *
 * <pre>
 * StoreTrip NAMESRV BROKER COMMAND ARGUMENT [COMMAND ARGUMENT ...]
 *
 * fill CLUSTER    topics, groups, messages, offsets
 * fillbatches CLUSTER
 *                 the same, with a topic that has batches for messages: only RoxMQ stores them so that both can read them
 * dump FILE       everything of them, one fact a line, in a fixed order
 * pop ROUND       messages of which some are acknowledged, and the others have to come again once the server has changed
 * settle STORE    waits until the offsets are in the files under STORE/config
 * delay ROUND     messages that will come after the server has changed: of a level, and at times of their own
 * halves ROUND    transactions that are committed, rolled back, and left undecided until the server has changed
 * goon ROUND      consumes what a group has left, waits for the delayed messages of all rounds, decides on transactions
 *                 when it is asked, sends to every queue, checks where the offsets go on
 * gooncut ROUND   the same after a Java server, which notes ends of transactions up to three seconds late: the producer
 *                 may be asked about them again
 * popped ROUND    waits for what is to come again, and that nothing else does
 * </pre>
 *
 * Each command waits a bounded time for what it needs, and ends with 1 and one line on the first surprise.
 */
public class StoreTrip extends Trip {
    static final int PLAIN_QUEUES = 4;
    static final int PLAIN_MESSAGES = 120;

    StoreTrip(String nameServer, String broker) throws Exception {
        super(nameServer, broker);
    }

    public static void main(String[] args) {
        String doing = "the start";
        try {
            StoreTrip trip = new StoreTrip(args[0], args[1]);
            for (int i = 2; i + 1 < args.length; i += 2) {
                doing = args[i];
                trip.run(args[i], args[i + 1]);
            }
            System.exit(0);
        } catch (Surprise surprise) {
            System.out.println(doing + ": " + surprise.getMessage());
        } catch (Exception failure) {
            System.out.println(doing + " failed: " + failure);
            failure.printStackTrace();
        }
        System.exit(1);
    }

    void run(String command, String argument) throws Exception {
        switch (command) {
            case "fill":
                fill(argument, Map.of());
                break;
            case "fillbatches":
                fill(argument, Map.of("+queue.type", "BatchCQ"));
                break;
            case "dump":
                new Dump(this).dump(Path.of(argument));
                break;
            case "pop":
                new Pops(this).pop(Integer.parseInt(argument));
                break;
            case "settle":
                new Settle(this).settle(Path.of(argument, "config"));
                break;
            case "delay":
                new Delayed(this).delay(Integer.parseInt(argument));
                break;
            case "halves":
                new Transactions(this).halves(Integer.parseInt(argument));
                break;
            case "goon":
                goOn(Integer.parseInt(argument), true);
                break;
            case "gooncut":
                goOn(Integer.parseInt(argument), false);
                break;
            case "popped":
                new Pops(this).popped(Integer.parseInt(argument));
                break;
            default:
                throw new Surprise("no such command");
        }
    }

    void fill(String cluster, Map<String, String> batched) throws Exception {
        until("the broker is known to the name server", () ->
            admin.examineBrokerClusterInfo().getClusterAddrTable().containsKey(cluster));
        createTopic(PLAIN, PLAIN_QUEUES, Map.of());
        createTopic(ORDERED, 2, Map.of("+message.type", "FIFO"));
        createTopic(BATCHED, 1, batched);
        createTopic(Delayed.DELAYED, 1, Map.of("+message.type", "DELAY"));
        createTopic(Delayed.TIMED, 1, Map.of("+message.type", "DELAY"));
        createTopic(Pops.POPPED, 1, Map.of());
        createTopic(Transactions.DECIDED, 1, Map.of("+message.type", "TRANSACTION"));
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

    void createGroups() throws Exception {
        for (String name : new String[] {HALF_READ, Pops.POPPER}) {
            SubscriptionGroupConfig plain = new SubscriptionGroupConfig();
            plain.setGroupName(name);
            admin.createAndUpdateSubscriptionGroupConfig(broker, plain);
        }
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

    void goOn(int round, boolean noted) throws Exception {
        until("the route of " + PLAIN, () -> !admin.examineTopicRouteInfo(PLAIN).getQueueDatas().isEmpty());
        // It is asked while the waits for the others last.
        Transactions transactions = new Transactions(this);
        TransactionMQProducer decider = transactions.decider();
        consumeTheRest();
        Delayed delayed = new Delayed(this);
        delayed.awaitDelayed(round);
        delayed.awaitTimed(round);
        transactions.awaitDecided(round, noted);
        decider.shutdown();
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
}
