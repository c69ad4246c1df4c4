// The scenario of ../README.md with kafkajs. Argument: the server. Modules come from NODE_PATH.
"use strict";
const assert = require("node:assert");
const { Kafka, CompressionTypes, CompressionCodecs, logLevel } = require("kafkajs");
const lz4 = require("lz4js");
const zstd = require("@bokuweb/zstd-wasm");

const PARTITIONS = 3, PER_CODEC = 100, LIMIT = 60_000, BASE = 1_700_000_000_000;
const EVERY = Array.from({ length: PARTITIONS }, (_, p) => p);
const codec = (compress, decompress) => () => ({
  compress: async (encoder) => Buffer.from(compress(encoder.buffer)),
  decompress: async (buffer) => Buffer.from(decompress(buffer)),
});
CompressionCodecs[CompressionTypes.Snappy] = require("kafkajs-snappy");
CompressionCodecs[CompressionTypes.LZ4] = codec(lz4.compress, lz4.decompress);
CompressionCodecs[CompressionTypes.ZSTD] = codec((b) => zstd.compress(b, 3), zstd.decompress);

let checks = 0;
const check = (ok, what, ...seen) => {
  checks++;
  if (!ok) throw new Error(`${what}: ${JSON.stringify(seen).slice(0, 600)}`);
};
const same = (a, b) => { try { assert.deepStrictEqual(a, b); return true; } catch { return false; } };
const pause = (ms) => new Promise((done) => setTimeout(done, ms));
const until = async (what, condition) => {
  const deadline = Date.now() + LIMIT;
  while (!(await condition()) && Date.now() < deadline) await pause(20);
  check(await condition(), `not within ${LIMIT} ms: ${what}`);
};

const kafka = new Kafka({ brokers: [process.argv[2]], logLevel: logLevel.NOTHING });
const admin = kafka.admin();
const topic = `kafkajs-${process.pid}`;
const group = `${topic}-group`;

// n records of one codec, the first of them being number `first` of all. Their times are unique.
const make = (name, first, n) => Array.from({ length: n }, (_, i) => ({
  key: i % 10 === 7 ? null : `key-${i % 10}`,
  value: i % 10 === 3 ? null : i % 10 === 5 ? "" : `${name} ${i} ${"x".repeat(200)}`,
  headers: { codec: name, same: ["1", "2"], empty: "" },
  timestamp: String(BASE + (first + i) * 1000),
}));

const text = (b) => (b === null || b === undefined ? null : b.toString());
const seen = (m) => ({
  key: text(m.key), value: text(m.value), timestamp: m.timestamp,
  headers: Object.fromEntries(Object.entries(m.headers).map(([k, v]) => [k, Array.isArray(v) ? v.map(text) : text(v)])),
});

const produce = async (type, records) => {
  const producer = kafka.producer({ idempotent: true });
  await producer.connect();
  await producer.send({ topic, compression: type, messages: records });
  await producer.disconnect();
};

// A member of the group. It commits when it leaves.
const join = async () => {
  const member = { read: new Map(), owned: [] };
  const consumer = kafka.consumer({ groupId: group, maxWaitTimeInMs: 200, heartbeatInterval: 200 });
  consumer.on(consumer.events.GROUP_JOIN, (e) => { member.owned = [...(e.payload.memberAssignment[topic] || [])]; });
  consumer.on(consumer.events.REBALANCING, () => { member.owned = []; });
  await consumer.connect();
  await consumer.subscribe({ topic, fromBeginning: true });
  await consumer.run({
    autoCommit: false,
    eachMessage: async ({ partition, message }) => { member.read.set(`${partition}/${message.offset}`, seen(message)); },
  });
  member.leave = async () => {
    const next = {};
    for (const at of member.read.keys()) {
      const [p, o] = at.split("/").map(Number);
      if (member.owned.includes(p)) next[p] = Math.max(next[p] || 0, o + 1);
    }
    await consumer.commitOffsets(Object.entries(next).map(([p, o]) => ({ topic, partition: Number(p), offset: String(o) })));
    await consumer.disconnect();
  };
  return member;
};

// Everything sent is there, each record as it was sent, in order and without holes.
const compare = (read, sent) => {
  check(read.size === sent.length, "the number of records", read.size, sent.length);
  const want = new Map(sent.map((r) => [r.timestamp, r]));
  const of = new Map(), last = new Map();
  for (const [at, r] of read) {
    if (!same(r, want.get(r.timestamp))) check(false, "what was read is what was sent", r, want.get(r.timestamp));
    const [p, o] = at.split("/").map(Number);
    of.set(p, [...(of.get(p) || []), [o, r]]);
  }
  for (const [p, records] of of) {
    records.sort((a, b) => a[0] - b[0]).forEach(([o, r], i) => {
      if (o !== i) check(false, "no hole in the offsets", p, o, i);
      const before = r.key && last.get(r.key);
      if (before && (before.p !== p || before.time >= +r.timestamp)) check(false, "the order of a key", r);
      if (r.key) last.set(r.key, { p, time: +r.timestamp });
    });
  }
  check(true, "content and order");
};

const groups = async (sent) => {
  const a = await join(), b = await join();
  const together = () => new Map([...a.read, ...b.read]);
  await until("two members share the partitions", () => a.owned.length && b.owned.length && a.owned.length + b.owned.length === PARTITIONS);
  await until("all is read", () => together().size >= sent.length);
  const read = together();
  compare(read, sent);
  await a.leave();
  await until("the other takes over", () => same([...b.owned].sort(), EVERY));
  const late = make("none", sent.length, 30);
  await produce(CompressionTypes.None, late);
  await until("the rest is read", () => together().size >= sent.length + late.length);
  const described = (await admin.describeGroups([group])).groups[0];
  check(described.state === "Stable" && described.members.length === 1, "the group with one member", described.state);
  await b.leave();
  compare(together(), [...sent, ...late]);
  const ends = (await admin.fetchTopicOffsets(topic)).map((p) => [p.partition, p.offset]).sort();
  const committed = (await admin.fetchOffsets({ groupId: group, topics: [topic] }))[0].partitions.map((p) => [p.partition, p.offset]).sort();
  check(same(committed, ends), "the committed offsets", committed, ends);
  const again = await join();
  await until("the group comes back", () => same([...again.owned].sort(), EVERY));
  await pause(500);
  check(again.read.size === 0, "nothing is read twice after a commit", [...again.read.keys()]);
  await again.leave();
  const listed = async () => (await admin.listGroups()).groups.some((g) => g.groupId === group);
  check(await listed(), "the group is listed");
  await admin.deleteGroups([group]);
  check(!(await listed()), "the group is gone");
  return read;
};

const readOne = async (partition, offset) => {
  const consumer = kafka.consumer({ groupId: `${group}-seek` });
  await consumer.connect();
  await consumer.subscribe({ topic, fromBeginning: true });
  const first = new Promise((done) => {
    consumer.run({ autoCommit: false, eachMessage: async (m) => { if (m.partition === partition && +m.message.offset >= offset) done(m.message); } });
  });
  consumer.seek({ topic, partition, offset: String(offset) });
  const message = await first;
  await consumer.disconnect();
  return message;
};

const seekByTime = async (read) => {
  const wanted = BASE + 250_000 - 500;
  const found = await admin.fetchTopicOffsetsByTimestamp(topic, wanted);
  for (const { partition, offset } of found) {
    const offsets = [...read].filter(([at, r]) => at.startsWith(`${partition}/`) && +r.timestamp >= wanted).map(([at]) => Number(at.split("/")[1]));
    check(Number(offset) === Math.min(...offsets), "the offset by time", partition, offset, Math.min(...offsets));
    const message = await readOne(partition, Number(offset));
    check(message.offset === offset && same(seen(message), read.get(`${partition}/${offset}`)), "the record after a seek", message);
  }
  // This client answers with the end offset where the broker says that there is none.
  const beyond = await admin.fetchTopicOffsetsByTimestamp(topic, BASE + 1_000_000_000);
  const ends = await admin.fetchTopicOffsets(topic);
  for (const { partition, offset } of beyond) {
    check(offset === ends.find((e) => e.partition === partition).offset, "no offset beyond the last time", beyond);
  }
};

const main = async () => {
  await zstd.init();
  await admin.connect();
  await admin.createTopics({ topics: [{ topic, numPartitions: PARTITIONS, configEntries: [{ name: "retention.ms", value: "172800000" }] }] });
  const described = (await admin.fetchTopicMetadata({ topics: [topic] })).topics[0];
  check(described.partitions.length === PARTITIONS, "the number of partitions", described);
  const configs = await admin.describeConfigs({ includeSynonyms: false, resources: [{ type: 2, name: topic, configNames: ["retention.ms"] }] });
  check(configs.resources[0].configEntries[0].configValue === "172800000", "a configuration of the topic", configs);
  const sent = [];
  for (const [name, type] of Object.entries({ none: 0, gzip: 1, snappy: 2, lz4: 3, zstd: 4 })) {
    const records = make(name, sent.length, PER_CODEC);
    await produce(type, records);
    sent.push(...records);
  }
  console.log("excepted send a header without a value: this client cannot");
  await seekByTime(await groups(sent));
  await admin.deleteTopics({ topics: [topic] });
  await until("the topic is gone", async () => !(await admin.listTopics()).includes(topic));
  await admin.disconnect();
  const { version } = require("kafkajs/package.json");
  console.log("ok kafkajs", version, checks);
};

main().catch((e) => {
  console.log("FAILED:", e.message, e.stack);
  process.exit(1);
});
