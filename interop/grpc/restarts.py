"""A producer, a push consumer and a simple consumer of the official Python client that go on while somebody else stops
and kills the server: restarts.py ENDPOINT TOPIC STOP_FILE.

Whatever was sent successfully has to reach both consumers. The producer stops when the file is there; then the consumers
have LAST seconds to get the rest.
"""
import os
import sys
import threading
import time

from rocketmq import (ClientConfiguration, ConsumeResult, Credentials, FilterExpression, Message, MessageListener,
                      Producer, PushConsumer, SimpleConsumer)

LAST = 120
AWAIT = 5
INVISIBLE = 15
PAUSE = 0.2

ENDPOINT, TOPIC, STOP = sys.argv[1:4]


class Listener(MessageListener):
    def __init__(self, bodies):
        self.bodies = bodies

    def consume(self, message):
        self.bodies.add(message.body.decode())
        return ConsumeResult.SUCCESS


def configuration():
    return ClientConfiguration(ENDPOINT, Credentials(), "", 3)


def send(producer):
    """What was sent for certain, and how many may have been."""
    sent, refused, number = set(), 0, 0
    while not os.path.exists(STOP):
        message = Message()
        message.topic = TOPIC
        message.body = f"message {number}".encode()
        number += 1
        try:
            producer.send(message)
            sent.add(message.body.decode())
            if len(sent) == 1:
                print("sending", flush=True)
        except Exception:
            # Of several kinds. Whether it was stored is unknown, so that nobody has to get it.
            refused += 1
        time.sleep(0.005)
    return sent, refused


def receive(simple, received):
    while True:
        try:
            for message in simple.receive(32, INVISIBLE) or []:
                received.add(message.body.decode())
                simple.ack(message)
        except Exception:
            # The server is away; what wasn't acknowledged comes again.
            time.sleep(PAUSE)


def main():
    pushed, received = set(), set()
    everything = {TOPIC: FilterExpression()}
    PushConsumer(configuration(), "restarts_python_push", Listener(pushed), everything).startup()
    simple = SimpleConsumer(configuration(), "restarts_python_simple", everything, AWAIT)
    simple.startup()
    threading.Thread(target=receive, args=(simple, received), daemon=True).start()
    producer = Producer(configuration(), [TOPIC])
    producer.startup()
    sent, refused = send(producer)
    end = time.time() + LAST
    while not (sent <= pushed and sent <= received) and time.time() < end:
        time.sleep(PAUSE)
    print(f"{len(sent)} sent, {refused} refused; the push consumer of Python lacks {len(sent - pushed)}, "
          f"the simple consumer {len(sent - received)}", flush=True)
    # The clients' threads go on.
    os._exit(0 if sent and sent <= pushed and sent <= received else 1)


main()
