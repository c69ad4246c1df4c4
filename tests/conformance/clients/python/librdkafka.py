"""confluent-kafka, which is librdkafka."""

import confluent_kafka
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic

import scenario


def read(m):
    record = scenario.Record(m.key(), m.value(), m.headers(), m.timestamp()[1])
    return scenario.Read(m.partition(), m.offset(), record)


class Group:
    def __init__(self, config, topic):
        self.consumer = Consumer(config)
        self.consumer.subscribe([topic])

    def poll(self):
        messages = self.consumer.consume(100, timeout=0.2)
        for m in messages:
            if m.error():
                raise confluent_kafka.KafkaException(m.error())
        return [read(m) for m in messages]

    def assignment(self):
        return {tp.partition for tp in self.consumer.assignment()}

    def commit(self):
        try:
            self.consumer.commit(asynchronous=False)
        except confluent_kafka.KafkaException as e:
            if e.args[0].code() != confluent_kafka.KafkaError._NO_OFFSET:  # nothing new was read
                raise

    def close(self):
        self.consumer.close()


class Client:
    version = f"{confluent_kafka.__version__}/{confluent_kafka.libversion()[0]}"
    cannot = []

    def __init__(self, server, protocol):
        self.server = {"bootstrap.servers": server}
        self.protocol = protocol
        self.admin = AdminClient(self.server)

    def create_topic(self, topic, partitions, config):
        self.admin.create_topics([NewTopic(topic, partitions, 1, config=config)])[topic].result()

    def describe_topic(self, topic):
        resource = ConfigResource(ConfigResource.Type.TOPIC, topic)
        entries = self.admin.describe_configs([resource])[resource].result()
        return len(self.topics()[topic].partitions), {name: e.value for name, e in entries.items()}

    def topics(self):
        return self.admin.list_topics(timeout=10).topics

    def produce(self, topic, codec, records):
        failures = []
        producer = Producer(self.server | {"compression.type": codec, "linger.ms": 50, "partitioner": "murmur2_random"})
        for r in records:
            producer.produce(topic, r.value, r.key, timestamp=r.time, headers=r.headers,
                             on_delivery=lambda e, m: e and failures.append(e))
        if producer.flush(30) or failures:
            raise SystemExit(f"FAILED: produce with {codec}: {failures}")

    def consumer_config(self, group):
        return self.server | {"group.id": group, "auto.offset.reset": "earliest", "enable.auto.commit": False}

    def member(self, topic, group):
        config = self.consumer_config(group) | {"group.protocol": self.protocol}
        if self.protocol == "classic":
            config["heartbeat.interval.ms"] = 500
        return Group(config, topic)

    def describe_group(self, group):
        g = self.admin.describe_consumer_groups([group])[group].result()
        return g.state.name.lower(), len(g.members)

    def groups(self):
        return {g.group_id for g in self.admin.list_consumer_groups().result().valid}

    def committed(self, group, topic):
        request = ConsumerGroupTopicPartitions(group)
        offsets = self.admin.list_consumer_group_offsets([request])[group].result().topic_partitions
        return {tp.partition: tp.offset for tp in offsets if tp.topic == topic}

    def delete_group(self, group):
        self.admin.delete_consumer_groups([group])[group].result()

    def offsets_for_time(self, topic, ms):
        consumer = Consumer(self.consumer_config("unused"))
        asked = [TopicPartition(topic, p, ms) for p in range(scenario.PARTITIONS)]
        found = {tp.partition: tp.offset for tp in consumer.offsets_for_times(asked, timeout=10)}
        consumer.close()
        return {p: o if o >= 0 else None for p, o in found.items()}

    def read_one(self, topic, partition, offset):
        consumer = Consumer(self.consumer_config("unused"))
        consumer.assign([TopicPartition(topic, partition, offset)])
        m = consumer.poll(10)
        consumer.close()
        return read(m)

    def delete_topic(self, topic):
        self.admin.delete_topics([topic])[topic].result()


scenario.main("confluent-kafka", Client)
