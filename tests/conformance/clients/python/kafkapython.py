"""kafka-python."""

import kafka
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition

import scenario


def read(m):
    return scenario.Read(m.partition, m.offset, scenario.Record(m.key, m.value, list(m.headers), m.timestamp))


class Group:
    def __init__(self, consumer, topic):
        self.consumer = consumer
        consumer.subscribe([topic])

    def poll(self):
        return [read(m) for messages in self.consumer.poll(200).values() for m in messages]

    def assignment(self):
        return {tp.partition for tp in self.consumer.assignment()}

    def commit(self):
        self.consumer.commit()

    def close(self):
        self.consumer.close(autocommit=False)


class Client:
    version = kafka.__version__
    cannot = ["send a header without a value"]

    def __init__(self, server, protocol):
        self.server = server
        self.admin = KafkaAdminClient(bootstrap_servers=server)

    def create_topic(self, topic, partitions, config):
        spec = {"num_partitions": partitions, "replication_factor": 1, "configs": config}
        self.admin.create_topics({topic: spec})

    def describe_topic(self, topic):
        resource = kafka.admin.ConfigResource("TOPIC", topic)
        config = self.admin.describe_configs([resource], config_filter="all")["topic"][topic]
        partitions = self.admin.describe_topics([topic])[0]["partitions"]
        return len(partitions), {name: entry["value"] for name, entry in config.items()}

    def topics(self):
        return self.admin.list_topics()

    def produce(self, topic, codec, records):
        codec = None if codec == "none" else codec
        producer = KafkaProducer(bootstrap_servers=self.server, compression_type=codec, linger_ms=50)
        sent = [producer.send(topic, r.value, r.key, r.headers, timestamp_ms=r.time) for r in records]
        for future in sent:
            future.get(30)
        producer.close()

    def consumer(self, group=None):
        return KafkaConsumer(bootstrap_servers=self.server, group_id=group, auto_offset_reset="earliest",
                             enable_auto_commit=False, heartbeat_interval_ms=500)

    def member(self, topic, group):
        return Group(self.consumer(group), topic)

    def describe_group(self, group):
        g = self.admin.describe_groups([group])[group]
        return g["group_state"].lower(), len(g["members"])

    def groups(self):
        return {g["group_id"] for g in self.admin.list_groups()}

    def committed(self, group, topic):
        offsets = self.admin.list_group_offsets(group)[group]
        return {tp.partition: at.offset for tp, at in offsets.items() if tp.topic == topic}

    def delete_group(self, group):
        self.admin.delete_groups([group])

    def offsets_for_time(self, topic, ms):
        consumer = self.consumer()
        found = consumer.offsets_for_times({TopicPartition(topic, p): ms for p in range(scenario.PARTITIONS)})
        consumer.close()
        return {tp.partition: at and at.offset for tp, at in found.items()}

    def read_one(self, topic, partition, offset):
        consumer, tp = self.consumer(), TopicPartition(topic, partition)
        consumer.assign([tp])
        consumer.seek(tp, offset)
        first = next(consumer)
        consumer.close()
        return read(first)

    def delete_topic(self, topic):
        self.admin.delete_topics([topic])


scenario.main("kafka-python", Client)
