"""aiokafka. Each member of the group has an event loop of its own, in its thread."""

import asyncio

import aiokafka
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

import scenario


def read(m):
    return scenario.Read(m.partition, m.offset, scenario.Record(m.key, m.value, list(m.headers), m.timestamp))


class Group:
    def __init__(self, server, topic, group):
        self.runner = asyncio.Runner()
        self.consumer = self.runner.run(start_consumer(server, topic, group_id=group))

    def poll(self):
        batches = self.runner.run(self.consumer.getmany(timeout_ms=200))
        return [read(m) for messages in batches.values() for m in messages]

    def assignment(self):
        return {tp.partition for tp in self.consumer.assignment()}

    def commit(self):
        self.runner.run(self.consumer.commit())

    def close(self):
        self.runner.run(self.consumer.stop())


async def start_consumer(server, *topics, **config):
    consumer = AIOKafkaConsumer(*topics, bootstrap_servers=server, auto_offset_reset="earliest",
                                enable_auto_commit=False, heartbeat_interval_ms=500, **config)
    await consumer.start()
    return consumer


class Client:
    version = aiokafka.__version__
    cannot = ["delete a group"]

    def __init__(self, server, protocol):
        self.server = server
        self.runner = asyncio.Runner()
        self.admin = self.runner.run(self.start_admin())

    async def start_admin(self):
        admin = AIOKafkaAdminClient(bootstrap_servers=self.server)
        await admin.start()
        return admin

    def create_topic(self, topic, partitions, config):
        answer = self.runner.run(self.admin.create_topics([NewTopic(topic, partitions, 1, topic_configs=config)]))
        if answer.topic_errors[0][1]:
            raise SystemExit(f"FAILED: create the topic: {answer}")

    def describe_topic(self, topic):
        resource = ConfigResource(ConfigResourceType.TOPIC, topic)
        answer = self.runner.run(self.admin.describe_configs([resource]))[0]
        config = {entry[0]: entry[1] for entry in answer.resources[0][4]}
        return len(self.runner.run(self.admin.describe_topics([topic]))[0]["partitions"]), config

    def topics(self):
        return self.runner.run(self.admin.list_topics())

    def produce(self, topic, codec, records):
        async def run():
            codec_name = None if codec == "none" else codec
            producer = AIOKafkaProducer(bootstrap_servers=self.server, compression_type=codec_name, linger_ms=50)
            await producer.start()
            sent = [await producer.send(topic, r.value, r.key, timestamp_ms=r.time, headers=r.headers) for r in records]
            await asyncio.wait_for(asyncio.gather(*sent), 30)
            await producer.stop()
        self.runner.run(run())

    def member(self, topic, group):
        return Group(self.server, topic, group)

    def describe_group(self, group):
        _, _, state, _, _, members, *_ = self.runner.run(self.admin.describe_consumer_groups([group]))[0].groups[0]
        return state.lower(), len(members)

    def groups(self):
        return {g[0] for g in self.runner.run(self.admin.list_consumer_groups())}

    def committed(self, group, topic):
        offsets = self.runner.run(self.admin.list_consumer_group_offsets(group))
        return {tp.partition: at.offset for tp, at in offsets.items() if tp.topic == topic}

    def offsets_for_time(self, topic, ms):
        async def run():
            consumer = await start_consumer(self.server)
            asked = {TopicPartition(topic, p): ms for p in range(scenario.PARTITIONS)}
            found = await consumer.offsets_for_times(asked)
            await consumer.stop()
            return {tp.partition: at and at.offset for tp, at in found.items()}
        return self.runner.run(run())

    def read_one(self, topic, partition, offset):
        async def run():
            consumer, tp = await start_consumer(self.server), TopicPartition(topic, partition)
            consumer.assign([tp])
            consumer.seek(tp, offset)
            first = await asyncio.wait_for(consumer.getone(), 10)
            await consumer.stop()
            return first
        return read(self.runner.run(run()))

    def delete_topic(self, topic):
        answer = self.runner.run(self.admin.delete_topics([topic]))
        if answer.topic_error_codes[0][1]:
            raise SystemExit(f"FAILED: delete the topic: {answer}")


scenario.main("aiokafka", Client)
