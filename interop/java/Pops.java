import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.rocketmq.client.consumer.AckCallback;
import org.apache.rocketmq.client.consumer.AckResult;
import org.apache.rocketmq.client.consumer.AckStatus;
import org.apache.rocketmq.client.consumer.PopCallback;
import org.apache.rocketmq.client.consumer.PopResult;
import org.apache.rocketmq.client.consumer.PopStatus;
import org.apache.rocketmq.client.impl.MQClientAPIImpl;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.constant.ConsumeInitMode;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageConst;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.remoting.protocol.header.AckMessageRequestHeader;
import org.apache.rocketmq.remoting.protocol.header.ExtraInfoUtil;
import org.apache.rocketmq.remoting.protocol.header.PopMessageRequestHeader;

/** Messages that are popped; some are acknowledged, the others come again once the server has changed. */
class Pops extends Trip {
    static final String POPPED = "TripPopped";
    static final String POPPER = "trip_popper";
    static final long INVISIBLE_MS = 30_000;
    static final int POP_MESSAGES = 6;
    static final int POP_ACKNOWLEDGED = 2;

    Pops(Trip other) {
        super(other);
    }

    void pop(int round) throws Exception {
        DefaultMQProducer producer = producer("trip_pop");
        for (int i = 0; i < POP_MESSAGES; i++) {
            send(producer, new Message(POPPED, "p", popBody(round, i).getBytes(StandardCharsets.UTF_8)), 0);
        }
        Map<String, MessageExt> got = new TreeMap<>();
        until("messages to pop", () -> {
            popSome(got);
            return got.size() >= POP_MESSAGES;
        });
        expect("popped messages", popBodies(round, 0), List.copyOf(got.keySet()));
        for (int i = 0; i < POP_ACKNOWLEDGED; i++) {
            acknowledge(got.get(popBody(round, i)));
        }
        producer.shutdown();
    }

    /** What was popped and not acknowledged comes again, once and not before its time. */
    void popped(int round) throws Exception {
        Map<String, MessageExt> got = new TreeMap<>();
        List<String> expected = popBodies(round, POP_ACKNOWLEDGED);
        until("popped messages to come again", () -> {
            popSome(got);
            return got.size() >= expected.size();
        });
        for (Map.Entry<String, MessageExt> message : got.entrySet()) {
            acknowledge(message.getValue());
        }
        popSome(got);
        expect("messages that came again", expected, List.copyOf(got.keySet()));
    }

    static String popBody(int round, int i) {
        return "popped " + round + " " + i;
    }

    static List<String> popBodies(int round, int from) {
        List<String> bodies = new ArrayList<>();
        for (int i = from; i < POP_MESSAGES; i++) {
            bodies.add(popBody(round, i));
        }
        return bodies;
    }

    void popSome(Map<String, MessageExt> got) throws Exception {
        PopMessageRequestHeader header = new PopMessageRequestHeader();
        header.setConsumerGroup(POPPER);
        header.setTopic(POPPED);
        header.setQueueId(-1);
        header.setMaxMsgNums(32);
        header.setInvisibleTime(INVISIBLE_MS);
        header.setInitMode(ConsumeInitMode.MIN);
        header.setExpType("TAG");
        header.setExp("*");
        CompletableFuture<PopResult> answer = new CompletableFuture<>();
        long asked = System.currentTimeMillis();
        client().popMessageAsync(brokerName(POPPED), broker, header, WAIT_MS, new PopCallback() {
            @Override
            public void onSuccess(PopResult result) {
                answer.complete(result);
            }

            @Override
            public void onException(Throwable failure) {
                answer.completeExceptionally(failure);
            }
        });
        PopResult result = answer.get(WAIT_MS, TimeUnit.MILLISECONDS);
        if (result.getPopStatus() != PopStatus.FOUND) {
            return;
        }
        for (MessageExt message : result.getMsgFoundList()) {
            String body = new String(message.getBody(), StandardCharsets.UTF_8);
            long again = Long.parseLong(message.getProperty(MessageConst.PROPERTY_FIRST_POP_TIME)) + INVISIBLE_MS;
            if (message.getReconsumeTimes() > 0 && again - asked > Delayed.TIMER_PRECISION_MS) {
                throw new Surprise(body + " came again " + (again - asked) + " ms before its time");
            }
            if (got.put(body, message) != null) {
                throw new Surprise(body + " came twice");
            }
        }
    }

    void acknowledge(MessageExt message) throws Exception {
        String handle = message.getProperty(MessageConst.PROPERTY_POP_CK);
        String[] parts = ExtraInfoUtil.split(handle);
        AckMessageRequestHeader header = new AckMessageRequestHeader();
        header.setConsumerGroup(POPPER);
        header.setTopic(ExtraInfoUtil.getRealTopic(parts, POPPED, POPPER));
        header.setQueueId(ExtraInfoUtil.getQueueId(parts));
        header.setOffset(ExtraInfoUtil.getQueueOffset(parts));
        header.setExtraInfo(handle);
        CompletableFuture<AckResult> answer = new CompletableFuture<>();
        client().ackMessageAsync(broker, WAIT_MS, new AckCallback() {
            @Override
            public void onSuccess(AckResult result) {
                answer.complete(result);
            }

            @Override
            public void onException(Throwable failure) {
                answer.completeExceptionally(failure);
            }
        }, header);
        expect("an acknowledgement", AckStatus.OK, answer.get(WAIT_MS, TimeUnit.MILLISECONDS).getStatus());
    }

    MQClientAPIImpl client() {
        return admin.getDefaultMQAdminExtImpl().getMqClientInstance().getMQClientAPIImpl();
    }
}
