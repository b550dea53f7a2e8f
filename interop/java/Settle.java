import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import com.alibaba.fastjson.JSON;
import com.alibaba.fastjson.JSONObject;
import org.apache.rocketmq.client.exception.MQBrokerException;
import org.apache.rocketmq.common.message.MessageQueue;
import org.apache.rocketmq.remoting.protocol.admin.OffsetWrapper;

/** Waits until a server that is to be killed has its progress in its files, as these are all that the next one gets. */
class Settle extends Trip {
    Settle(Trip other) {
        super(other);
    }

    void settle(Path config) throws Exception {
        for (String group : GROUPS) {
            for (String topic : new String[] {PLAIN, ORDERED}) {
                Map<MessageQueue, OffsetWrapper> offsets = consumed(group, topic);
                until("offsets of " + group + " in " + config, () -> inFile(config, group, topic, offsets));
            }
        }
        Map<MessageQueue, OffsetWrapper> popped = consumed(Pops.POPPER, Pops.POPPED);
        until("offsets of " + Pops.POPPER + " in " + config, () -> inFile(config, Pops.POPPER, Pops.POPPED, popped));
        long delivered = maxOffset(Delayed.DELAYED);
        until("the progress of delay level " + Delayed.DELAY_LEVEL + " in " + config, () -> delivered == 0
            || table(config.resolve("delayOffset.json")).getLongValue(Integer.toString(Delayed.DELAY_LEVEL)) == delivered);
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
}
