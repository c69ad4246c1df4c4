// One topic through kafkajs and @nats-io: what either writes, the other reads.
//
//   npm install
//   node example.js [KAFKA [NATS]]        (127.0.0.1:9092 and 127.0.0.1:4222)
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { connect, headers } from "@nats-io/transport-node";
import { AckPolicy, jetstream, jetstreamManager } from "@nats-io/jetstream";
import kafkajs from "kafkajs";

const [broker = "127.0.0.1:9092", server = "127.0.0.1:4222"] = process.argv.slice(2);
const topic = `node-${process.pid}`;
const source = readFileSync(new URL(import.meta.url), "utf8").trimEnd().split("\n");
const kafka = new kafkajs.Kafka({ brokers: [broker], logLevel: kafkajs.logLevel.NOTHING });

// Kafka writes this source: the line's number is the key. Acknowledged means on disk.
async function produce() {
  const admin = kafka.admin();
  await admin.connect();
  await admin.createTopics({ topics: [{ topic, numPartitions: 1 }], waitForLeaders: true });
  await admin.disconnect();
  const producer = kafka.producer({ idempotent: true });
  await producer.connect();
  const messages = source.map((value, i) => ({ key: `line.${i + 1}`, value, headers: { file: "example.js" } }));
  await producer.send({ topic, messages });
  await producer.disconnect();
  console.log(`kafka: produced ${source.length} records`);
}

// NATS reads them: the key is the end of the subject.
async function consume(connection) {
  const manager = await jetstreamManager(connection);
  await manager.consumers.add(topic, {
    durable_name: "readers", ack_policy: AckPolicy.Explicit, filter_subject: `${topic}.line.*`,
  });
  const consumer = await jetstream(connection).consumers.get(topic, "readers");
  const lines = [];
  while (lines.length < source.length) {
    const messages = await consumer.fetch({ max_messages: 50, expires: 5000 });
    for await (const m of messages) {
      assert.equal(m.subject, `${topic}.line.${lines.length + 1}`);
      assert.equal(m.headers.get("file"), "example.js");
      lines.push(m.string());
      m.ack();
    }
  }
  assert.deepEqual(lines, source);
  console.log(`nats:  read ${lines.length} messages, the first on ${topic}.line.1`);
  return lines.join(" ").split(/\s+/).length;
}

// NATS publishes a summary. The id has it stored once, however often it is sent.
async function publish(connection, words) {
  const h = headers();
  h.set("lines", String(source.length));
  const send = () => jetstream(connection).publish(`${topic}.summary`, String(words), { headers: h, msgID: "summary" });
  const ack = await send(), again = await send();
  assert.ok(again.duplicate && again.seq === ack.seq, again);
  console.log(`nats:  published the summary twice, stored once, as message ${ack.seq} of ${ack.stream}`);
  return ack.seq - 1;
}

// Kafka reads the summary: the key is the end of the subject, headers are headers.
async function read(offset, words) {
  const consumer = kafka.consumer({ groupId: topic });
  await consumer.connect();
  await consumer.subscribe({ topics: [topic], fromBeginning: true });
  const record = await new Promise((found, failed) => {
    consumer.run({
      eachMessage: async ({ message }) => { if (message.offset === String(offset)) found(message); },
    }).catch(failed);
    setTimeout(() => failed(new Error("the summary did not come")), 30_000).unref();
  });
  await consumer.disconnect();
  assert.equal(record.key.toString(), "summary");
  assert.equal(record.value.toString(), String(words));
  assert.equal(record.headers.lines.toString(), String(source.length));
  console.log(`kafka: read it at offset ${record.offset}, with the key ${record.key}: ${words} words`);
}

await produce();
const connection = await connect({ servers: server });
const words = await consume(connection);
const offset = await publish(connection, words);
await connection.close();
await read(offset, words);
