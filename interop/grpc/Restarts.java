import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.rocketmq.client.apis.ClientConfiguration;
import org.apache.rocketmq.client.apis.ClientServiceProvider;
import org.apache.rocketmq.client.apis.consumer.ConsumeResult;
import org.apache.rocketmq.client.apis.consumer.FilterExpression;
import org.apache.rocketmq.client.apis.consumer.PushConsumer;
import org.apache.rocketmq.client.apis.consumer.SimpleConsumer;
import org.apache.rocketmq.client.apis.message.MessageView;
import org.apache.rocketmq.client.apis.producer.Producer;

/**
 * A producer, a push consumer and a simple consumer that go on while somebody else stops and kills the server.
 *
 * <p>Whatever was sent successfully has to reach both consumers, each of a group of its own. The producer stops when
 * the file of the third argument is there; then the consumers have {@link #LAST} to get the rest.
 */
public final class Restarts {
    static final Duration LAST = Duration.ofSeconds(120);
    static final Duration INVISIBLE = Duration.ofSeconds(15);
    static final ClientServiceProvider CLIENTS = ClientServiceProvider.loadService();

    final Set<String> sent = ConcurrentHashMap.newKeySet();
    final Set<String> pushed = ConcurrentHashMap.newKeySet();
    final Set<String> received = ConcurrentHashMap.newKeySet();
    volatile int refused;

    public static void main(String[] args) throws Exception {
        boolean complete = new Restarts().run(args[0], args[1], Path.of(args[2]));
        // The clients' threads go on.
        Runtime.getRuntime().halt(complete ? 0 : 1);
    }

    boolean run(String endpoint, String topic, Path stop) throws Exception {
        ClientConfiguration configuration =
                ClientConfiguration.newBuilder().setEndpoints(endpoint).enableSsl(false).build();
        PushConsumer push = CLIENTS.newPushConsumerBuilder()
                .setClientConfiguration(configuration)
                .setConsumerGroup("restarts_push")
                .setSubscriptionExpressions(Map.of(topic, FilterExpression.SUB_ALL))
                .setMessageListener(message -> {
                    pushed.add(text(message));
                    return ConsumeResult.SUCCESS;
                })
                .build();
        SimpleConsumer simple = CLIENTS.newSimpleConsumerBuilder()
                .setClientConfiguration(configuration)
                .setConsumerGroup("restarts_simple")
                .setAwaitDuration(Duration.ofSeconds(5))
                .setSubscriptionExpressions(Map.of(topic, FilterExpression.SUB_ALL))
                .build();
        Producer producer =
                CLIENTS.newProducerBuilder().setClientConfiguration(configuration).setTopics(topic).build();
        Thread receiver = new Thread(() -> receive(simple));
        receiver.setDaemon(true);
        receiver.start();
        send(producer, topic, stop);
        long end = System.nanoTime() + LAST.toNanos();
        while (!(pushed.containsAll(sent) && received.containsAll(sent)) && System.nanoTime() < end) {
            Thread.sleep(100);
        }
        System.out.printf(
                "%d sent, %d refused; the push consumer lacks %d, the simple consumer %d%n",
                sent.size(), refused, lacking(pushed), lacking(received));
        return !sent.isEmpty() && lacking(pushed) + lacking(received) == 0;
    }

    void send(Producer producer, String topic, Path stop) throws InterruptedException {
        for (int number = 0; !Files.exists(stop); number++) {
            String body = "message " + number;
            try {
                producer.send(CLIENTS.newMessageBuilder()
                        .setTopic(topic)
                        .setBody(body.getBytes(StandardCharsets.UTF_8))
                        .build());
                sent.add(body);
                if (sent.size() == 1) {
                    System.out.println("sending");
                }
            } catch (Exception e) {
                // Of several kinds. Whether it was stored is unknown, so that nobody has to get it.
                refused++;
            }
            Thread.sleep(5);
        }
    }

    void receive(SimpleConsumer simple) {
        while (true) {
            try {
                for (MessageView message : simple.receive(32, INVISIBLE)) {
                    received.add(text(message));
                    simple.ack(message);
                }
            } catch (Exception e) {
                // The server is away; what wasn't acknowledged comes again.
                pause();
            }
        }
    }

    static void pause() {
        try {
            Thread.sleep(200);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    long lacking(Set<String> got) {
        return sent.stream().filter(body -> !got.contains(body)).count();
    }

    static String text(MessageView message) {
        return StandardCharsets.UTF_8.decode(message.getBody().duplicate()).toString();
    }
}
