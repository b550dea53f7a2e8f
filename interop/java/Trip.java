import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.rocketmq.client.consumer.DefaultMQPullConsumer;
import org.apache.rocketmq.client.consumer.PullResult;
import org.apache.rocketmq.client.consumer.PullStatus;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendStatus;
import org.apache.rocketmq.common.TopicConfig;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;
import org.apache.rocketmq.remoting.protocol.admin.TopicOffset;
import org.apache.rocketmq.tools.admin.DefaultMQAdminExt;

/** A server as a client and an operator see it, and what the parts of the trip share. */
class Trip {
    static final String PLAIN = "TripPlain";
    static final String ORDERED = "TripOrdered";
    static final String BATCHED = "TripBatched";
    static final String HALF_READ = "trip_half_read";
    static final String TUNED = "trip_tuned";
    static final String[] GROUPS = {HALF_READ, TUNED};
    static final long WAIT_MS = 90_000;

    final String nameServer;
    final String broker;
    final DefaultMQAdminExt admin;

    Trip(String nameServer, String broker) throws Exception {
        this.nameServer = nameServer;
        this.broker = broker;
        admin = new DefaultMQAdminExt();
        admin.setNamesrvAddr(nameServer);
        admin.setInstanceName("trip-" + System.nanoTime());
        admin.start();
    }

    Trip(Trip other) {
        nameServer = other.nameServer;
        broker = other.broker;
        admin = other.admin;
    }

    void createTopic(String name, int queues, Map<String, String> attributes) throws Exception {
        TopicConfig topic = new TopicConfig(name, queues, queues);
        topic.setAttributes(new HashMap<>(attributes));
        admin.createAndUpdateTopicConfig(broker, topic);
        until("the route of " + name, () -> !admin.examineTopicRouteInfo(name).getQueueDatas().isEmpty());
    }

    long maxOffset(String topic) throws Exception {
        return admin.examineTopicStats(topic).getOffsetTable().values().stream().mapToLong(TopicOffset::getMaxOffset).sum();
    }

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
        MessageQueue queue = new MessageQueue(message.getTopic(), brokerName(message.getTopic()), queueId);
        expect("a message is stored", SendStatus.SEND_OK, producer.send(message, queue).getSendStatus());
    }

    String brokerName(String topic) throws Exception {
        return admin.examineTopicRouteInfo(topic).getQueueDatas().get(0).getBrokerName();
    }

    /** All messages of a topic of one queue. */
    List<MessageExt> readAll(String topic) throws Exception {
        DefaultMQPullConsumer reader = reader();
        MessageQueue queue = new MessageQueue(topic, brokerName(topic), 0);
        List<MessageExt> messages = new ArrayList<>();
        for (long end = maxOffset(topic); messages.size() < end; ) {
            PullResult pulled = reader.pull(queue, "*", messages.size(), 32);
            expect("pull of " + queue + " at " + messages.size(), PullStatus.FOUND, pulled.getPullStatus());
            messages.addAll(pulled.getMsgFoundList());
        }
        reader.shutdown();
        return messages;
    }

    static List<String> bodies(List<MessageExt> messages) {
        List<String> bodies = new ArrayList<>();
        messages.forEach(message -> bodies.add(new String(message.getBody(), StandardCharsets.UTF_8)));
        return bodies;
    }

    static List<String> sorted(List<String> unordered) {
        List<String> sorted = new ArrayList<>(unordered);
        sorted.sort(null);
        return sorted;
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
            } catch (Surprise surprise) {
                throw surprise;
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
