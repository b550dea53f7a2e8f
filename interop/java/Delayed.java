import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendStatus;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;

/** Messages that come after the server has changed: of a delay level, and at times of their own. */
class Delayed extends Trip {
    static final String DELAYED = "TripDelayed";
    static final String TIMED = "TripTimed";
    /** 30 s: longer than from the last send to the stop of the server. */
    static final int DELAY_LEVEL = 4;
    /** As long, and no whole seconds: a Java server rounds them down. */
    static final long TIMER_MS = 30_300;
    static final long TIMER_PRECISION_MS = 1_000;

    Delayed(Trip other) {
        super(other);
    }

    void delay(int round) throws Exception {
        DefaultMQProducer producer = producer("trip_delay");
        Message delayed = new Message(DELAYED, "d", "delayed-" + round, ("late " + round).getBytes(StandardCharsets.UTF_8));
        delayed.setDelayTimeLevel(DELAY_LEVEL);
        expect("a delayed message is stored", SendStatus.SEND_OK, producer.send(delayed).getSendStatus());
        for (int i = 0; i < 3; i++) {
            long due = System.currentTimeMillis() + TIMER_MS + i * 500;
            Message timed = new Message(TIMED, "t", ("timed " + round + " " + i).getBytes(StandardCharsets.UTF_8));
            timed.putUserProperty("due", Long.toString(due));
            timed.setDeliverTimeMs(due);
            expect("a timer message is stored", SendStatus.SEND_OK, producer.send(timed).getSendStatus());
        }
        producer.shutdown();
    }

    /** Every delayed message comes, once and in order. */
    void awaitDelayed(int round) throws Exception {
        until("delayed message " + round, () -> maxOffset(DELAYED) > round);
        List<String> expected = new ArrayList<>();
        for (int r = 0; r <= round; r++) {
            expected.add("late " + r);
        }
        expect("delayed messages", expected, bodies(readAll(DELAYED)));
    }

    /** Every timer message comes, once and not before its time. */
    void awaitTimed(int round) throws Exception {
        List<String> expected = new ArrayList<>();
        for (int r = 0; r <= round; r++) {
            for (int i = 0; i < 3; i++) {
                expected.add("timed " + r + " " + i);
            }
        }
        until("timer messages of round " + round, () -> maxOffset(TIMED) >= expected.size());
        List<MessageExt> came = readAll(TIMED);
        for (MessageExt message : came) {
            long early = Long.parseLong(message.getUserProperty("due")) - message.getStoreTimestamp();
            if (early > TIMER_PRECISION_MS) {
                throw new Surprise(bodies(List.of(message)) + " came " + early + " ms before its time");
            }
        }
        expect("timer messages", expected, sorted(bodies(came)));
    }
}
