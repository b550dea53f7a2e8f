// A producer, a push consumer and a simple consumer of the official Node client that go on while somebody else stops and
// kills the server: restarts.js ENDPOINT TOPIC STOP_FILE.
//
// Whatever was sent successfully has to reach both consumers. The producer stops when the file is there; then the
// consumers have LAST to get the rest.
'use strict';
const fs = require('fs');
const { Producer, SimpleConsumer, PushConsumer, ConsumeResult } = require('rocketmq-client-nodejs');

const LAST_MS = 120000;
const AWAIT_MS = 5000;
const INVISIBLE_MS = 15000;
const PAUSE_MS = 200;

const [ endpoints, topic, stop ] = process.argv.slice(2);
const quiet = { debug() {}, info() {}, warn() {}, error() {}, log() {}, write() {}, close() {} };
const base = { endpoints, namespace: '', logger: quiet, requestTimeout: 3000 };
const everything = new Map([[ topic, '*' ]]);
const sleep = ms => new Promise(resolve => setTimeout(resolve, ms));
const lacking = (sent, got) => [ ...sent ].filter(body => !got.has(body)).length;

// What was sent for certain, and how many may have been.
async function send(producer) {
  const sent = new Set();
  let refused = 0;
  for (let number = 0; !fs.existsSync(stop); number++) {
    const body = `message ${number}`;
    try {
      await producer.send({ topic, tag: 'a', body: Buffer.from(body) });
      sent.add(body);
      if (sent.size === 1) console.log('sending');
    } catch {
      // Of several kinds. Whether it was stored is unknown, so that nobody has to get it.
      refused++;
    }
    await sleep(5);
  }
  return { sent, refused };
}

async function receive(simple, received) {
  for (;;) {
    try {
      for (const message of await simple.receive(32, INVISIBLE_MS)) {
        received.add(message.body.toString());
        await simple.ack(message);
      }
    } catch {
      // Nothing new is an error, too. What wasn't acknowledged comes again.
      await sleep(PAUSE_MS);
    }
  }
}

async function main() {
  const pushed = new Set(), received = new Set();
  const messageListener = { async consume(message) { pushed.add(message.body.toString()); return ConsumeResult.SUCCESS; } };
  await new PushConsumer({ ...base, consumerGroup: 'restarts_node_push', subscriptions: everything, messageListener }).startup();
  const simple = new SimpleConsumer({ ...base, consumerGroup: 'restarts_node_simple', awaitDuration: AWAIT_MS, subscriptions: everything });
  await simple.startup();
  receive(simple, received);
  const producer = new Producer({ ...base, topics: [ topic ] });
  await producer.startup();
  const { sent, refused } = await send(producer);
  const end = Date.now() + LAST_MS;
  while (lacking(sent, pushed) + lacking(sent, received) > 0 && Date.now() < end) await sleep(PAUSE_MS);
  const [ ofPush, ofSimple ] = [ lacking(sent, pushed), lacking(sent, received) ];
  console.log(`${sent.size} sent, ${refused} refused; the push consumer of Node lacks ${ofPush}, the simple consumer ${ofSimple}`);
  process.exit(sent.size > 0 && ofPush + ofSimple === 0 ? 0 : 1);
}

process.on('unhandledRejection', () => {}); // of the client's own loops, while the server is away
main().catch(error => { console.error(error); process.exit(1); });
