import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.rocketmq.client.QueryResult;
import org.apache.rocketmq.client.consumer.DefaultMQPullConsumer;
import org.apache.rocketmq.client.consumer.PullResult;
import org.apache.rocketmq.client.consumer.PullStatus;
import org.apache.rocketmq.client.exception.MQBrokerException;
import org.apache.rocketmq.common.TopicConfig;
import org.apache.rocketmq.common.message.MessageClientExt;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;
import org.apache.rocketmq.common.UtilAll;
import org.apache.rocketmq.remoting.protocol.admin.ConsumeStats;
import org.apache.rocketmq.remoting.protocol.admin.OffsetWrapper;
import org.apache.rocketmq.remoting.protocol.admin.TopicOffset;
import org.apache.rocketmq.remoting.protocol.subscription.SubscriptionGroupConfig;

/** Writes down all that a store holds, one fact a line, in a fixed order. */
class Dump extends Trip {
    Dump(Trip other) {
        super(other);
    }

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
            String name = topic.getTopicName();
            // The popper's come whenever a message comes again.
            boolean isPopped = name.startsWith("%RETRY%" + Pops.POPPER);
            if (name.startsWith("Trip") || name.startsWith("%RETRY%trip_") && !isPopped) {
                Map<String, String> attributes = new TreeMap<>(topic.getAttributes());
                // What RoxMQ calls it in a store, for the Java server not to take it for its own.
                if (attributes.containsKey("roxmq.queue.type")) {
                    attributes.put("queue.type", attributes.remove("roxmq.queue.type"));
                }
                out.println("topic " + name + " read " + topic.getReadQueueNums() + " write "
                    + topic.getWriteQueueNums() + " perm " + topic.getPerm() + " sysFlag " + topic.getTopicSysFlag()
                    + " order " + topic.isOrder() + " attributes " + attributes);
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
}
