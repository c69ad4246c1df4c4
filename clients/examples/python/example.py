"""One topic through confluent-kafka and nats-py: what either writes, the other reads.

    pip install -r requirements.txt
    python example.py [KAFKA [NATS]]        (127.0.0.1:9092 and nats://127.0.0.1:4222)
"""
import asyncio
import os
import pathlib
import sys

import confluent_kafka
import confluent_kafka.admin
import nats

KAFKA = sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1:9092"
NATS = sys.argv[2] if len(sys.argv) > 2 else "nats://127.0.0.1:4222"
TOPIC = f"python-{os.getpid()}"
SOURCE = pathlib.Path(__file__).read_text().splitlines()


def create():
    admin = confluent_kafka.admin.AdminClient({"bootstrap.servers": KAFKA})
    topics = admin.create_topics([confluent_kafka.admin.NewTopic(TOPIC, 1)])
    topics[TOPIC].result(30)


def produce():
    """Kafka writes this source: the line's number is the key. Acknowledged means on disk."""
    producer = confluent_kafka.Producer({"bootstrap.servers": KAFKA, "enable.idempotence": True})
    for number, line in enumerate(SOURCE, 1):
        producer.produce(TOPIC, key=f"line.{number}", value=line, headers={"file": "example.py"})
    left = producer.flush(30)
    assert left == 0, f"{left} records were not acknowledged"
    print(f"kafka: produced {len(SOURCE)} records")


async def consume_and_publish():
    """NATS reads them: the key is the end of the subject. Then it publishes a summary."""
    connection = await nats.connect(NATS)
    jetstream = connection.jetstream()
    consumer = await jetstream.pull_subscribe(f"{TOPIC}.line.*", durable="readers", stream=TOPIC)
    lines = []
    while len(lines) < len(SOURCE):
        for message in await consumer.fetch(50, timeout=30):
            number = message.subject.removeprefix(f"{TOPIC}.line.")
            assert int(number) == len(lines) + 1, f"line {number} came after {len(lines)} others"
            assert message.headers == {"file": "example.py"}, message.headers
            lines.append(message.data.decode())
            await message.ack()
    assert lines == SOURCE, "the lines differ"
    print(f"nats:  read {len(lines)} messages, the first on {TOPIC}.line.1")

    words = sum(len(line.split()) for line in lines)
    headers = {"Nats-Msg-Id": "summary", "lines": str(len(lines))}
    ack = await jetstream.publish(f"{TOPIC}.summary", str(words).encode(), headers=headers)
    again = await jetstream.publish(f"{TOPIC}.summary", str(words).encode(), headers=headers)
    assert again.duplicate and again.seq == ack.seq, again
    print(f"nats:  published the summary twice, stored once, as message {ack.seq} of {ack.stream}")
    await connection.close()
    return ack.seq - 1, words


def read(offset, words):
    """Kafka reads the summary: the key is the end of the subject, headers are headers."""
    consumer = confluent_kafka.Consumer({"bootstrap.servers": KAFKA, "group.id": TOPIC})
    consumer.assign([confluent_kafka.TopicPartition(TOPIC, 0, offset)])
    record = consumer.poll(30)
    assert record is not None and record.error() is None, record and record.error()
    assert (record.offset(), record.key(), int(record.value())) == (offset, b"summary", words)
    assert dict(record.headers())["lines"] == str(len(SOURCE)).encode(), record.headers()
    print(f"kafka: read it at offset {record.offset()}, with the key {record.key().decode()}: {words} words")
    consumer.close()


create()
produce()
read(*asyncio.run(consume_and_publish()))
