"""The scenario of ../README.md, for every Python client. A client is an object with the methods used here,
its version, and `cannot`: what it has no way to do."""

import argparse
import collections
import os
import threading
import time
import traceback

CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]
PER_CODEC, BASE, PARTITIONS, LIMIT = 100, 1_700_000_000_000, 3, 60

# A record as it is sent and as it comes back. The time (ms) is unique: it tells which record one is.
Record = collections.namedtuple("Record", "key value headers time")
Read = collections.namedtuple("Read", "partition offset record")

checks = 0


def check(ok, what, *seen):
    global checks
    checks += 1
    if not ok:
        raise SystemExit(f"FAILED: {what}: " + ", ".join(str(s)[:300] for s in seen))


def until(what, condition):
    deadline = time.time() + LIMIT
    while not condition() and time.time() < deadline:
        time.sleep(0.05)
    check(condition(), f"not within {LIMIT} s: {what}")


def make(client, codec, first, n=PER_CODEC):
    """n records of one codec, the first of them being number `first` of all."""
    null = b"" if "send a header without a value" in client.cannot else None
    records = []
    for i in range(n):
        key, value, empty = f"key-{i % 10}".encode(), f"{codec} {i} {'x' * 200}".encode(), b"here"
        if i % 10 == 3:
            value = None
        if i % 10 == 5:
            value, empty = b"", b""
        if i % 10 == 7:
            key = None
        headers = [("codec", codec.encode()), ("same", b"1"), ("same", b"2"), ("empty", empty), ("null", null)]
        records.append(Record(key, value, headers, BASE + (first + i) * 1000))
    return records


class Member(threading.Thread):
    """A member of the group in a thread of its own, as each of these clients wants it."""

    def __init__(self, client, topic, group):
        super().__init__(daemon=True)
        self.client, self.topic, self.group = client, topic, group
        self.read, self.owned, self.leaving = [], set(), threading.Event()
        self.start()

    def run(self):
        try:
            consumer = self.client.member(self.topic, self.group)
            while not self.leaving.is_set():
                self.read += consumer.poll()
                self.owned = consumer.assignment()
            consumer.commit()
            consumer.close()
        except Exception:  # ends everything: nobody else would tell
            traceback.print_exc()
            print("FAILED: a member of the group", flush=True)
            os._exit(1)

    def leave(self):
        self.leaving.set()
        self.join(LIMIT)
        check(not self.is_alive(), "the member commits and leaves")


def compare(read, sent):
    """Everything sent is there, each record as it was sent, in order and without holes. Returns it by offset."""
    seen = {(r.partition, r.offset): r.record for r in read}
    want = {r.time: r for r in sent}
    check(len(seen) == len(want), "the number of records", len(seen), len(want))
    differ = [(at, r, want.get(r.time)) for at, r in seen.items() if r != want.get(r.time)]
    check(not differ, "what was read is what was sent", *differ[:1])
    for p in range(PARTITIONS):
        offsets = sorted(o for q, o in seen if q == p)
        check(offsets == list(range(len(offsets))), f"no hole in partition {p}", offsets)
    by_key = collections.defaultdict(list)
    for (partition, _), record in sorted(seen.items()):
        by_key[record.key].append((partition, record.time))
    del by_key[None]
    mixed = [key for key, of in by_key.items() if of != sorted(of) or of[0][0] != of[-1][0]]
    check(not mixed, "records of one key are in one partition and in order", mixed)
    return seen


def groups(client, topic, sent):
    group = topic + "-group"
    a, b = Member(client, topic, group), Member(client, topic, group)
    every = set(range(PARTITIONS))
    until("two members share the partitions", lambda: a.owned and b.owned and a.owned | b.owned == every)
    check(not a.owned & b.owned, "no partition has two owners", a.owned, b.owned)
    until("all is read", lambda: len({(r.partition, r.offset) for r in a.read + b.read}) == len(sent))
    seen = compare(a.read + b.read, sent)
    a.leave()
    until("the other takes over", lambda: b.owned == every)
    late = make(client, "none", len(sent), 30)
    client.produce(topic, "none", late)
    until("the rest is read", lambda: {r.time for r in late} <= {r.record.time for r in b.read})
    state, members = client.describe_group(group)
    check((state, members) == ("stable", 1), "the group with one member", state, members)
    b.leave()
    compare(list(Read(*at, record) for at, record in seen.items()) + b.read, sent + late)
    ends = collections.Counter(r.partition for r in {(r.partition, r.offset): r for r in a.read + b.read}.values())
    check(client.committed(group, topic) == dict(ends), "committed offsets", client.committed(group, topic), ends)
    again = Member(client, topic, group)
    until("the group comes back", lambda: again.owned == every)
    again.leave()
    check(again.read == [], "nothing is read twice after a commit", again.read)
    check(group in client.groups(), "the group is listed")
    if "delete a group" not in client.cannot:
        client.delete_group(group)
        check(group not in client.groups(), "the group is gone")
    return seen


def seek_by_time(client, topic, seen):
    wanted = BASE + 250_000 - 500
    found = client.offsets_for_time(topic, wanted)
    for p in range(PARTITIONS):
        offset = min(o for (q, o), r in seen.items() if q == p and r.time >= wanted)
        check(found[p] == offset, f"offset by time in partition {p}", found[p], offset)
        first = client.read_one(topic, p, offset)
        check(first.record == seen[p, offset], "the record after a seek", first, seen[p, offset])
    beyond = client.offsets_for_time(topic, BASE + 10**9)
    check(all(o is None for o in beyond.values()), "no offset beyond the last time", beyond)


def main(name, make_client):
    parser = argparse.ArgumentParser()
    parser.add_argument("server")
    parser.add_argument("--protocol", default="classic", help="of groups: classic or consumer")
    args = parser.parse_args()
    client = make_client(args.server, args.protocol)
    for what in client.cannot:
        print(f"excepted {what}: this client cannot")
    topic = f"{name}-{args.protocol}-{os.getpid()}"

    client.create_topic(topic, PARTITIONS, {"retention.ms": "172800000"})
    partitions, config = client.describe_topic(topic)
    check(partitions == PARTITIONS, "the number of partitions", partitions)
    check(config["retention.ms"] == "172800000", "a configuration of the topic", config)
    sent = []
    for codec in CODECS:
        batch = make(client, codec, len(sent))
        client.produce(topic, codec, batch)
        sent += batch
    seen = groups(client, topic, sent)
    seek_by_time(client, topic, seen)
    client.delete_topic(topic)
    until("the topic is gone", lambda: topic not in client.topics())
    print("ok", name, client.version, checks)
