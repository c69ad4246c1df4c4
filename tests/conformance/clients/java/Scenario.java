import java.time.Duration;
import java.util.*;
import java.util.concurrent.*;
import java.util.function.BooleanSupplier;
import java.util.stream.*;
import org.apache.kafka.clients.admin.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.serialization.*;

/** The scenario of ../README.md with Apache's own client. Arguments: server, and the protocol of groups. */
public class Scenario {
  static final int PARTITIONS = 3, PER_CODEC = 100, LIMIT = 60;
  static final long BASE = 1_700_000_000_000L;
  static int checks;

  static void check(boolean ok, String what, Object... seen) {
    checks++;
    if (!ok) throw new AssertionError(what + ": " + Arrays.toString(seen));
  }

  static void until(String what, BooleanSupplier condition) throws InterruptedException {
    long deadline = System.nanoTime() + LIMIT * 1_000_000_000L;
    while (!condition.getAsBoolean() && System.nanoTime() < deadline) Thread.sleep(20);
    check(condition.getAsBoolean(), "not within " + LIMIT + " s: " + what);
  }

  /** A record in words: the same words for what was sent and for what was read. Its time is unique. */
  static String words(String key, String value, Iterable<Header> headers, long time) {
    String h = StreamSupport.stream(headers.spliterator(), false)
        .map(x -> x.key() + "=" + (x.value() == null ? null : '"' + new String(x.value()) + '"')).toList().toString();
    return time + " " + (key == null ? null : '"' + key + '"') + " " + (value == null ? null : '"' + value + '"') + " " + h;
  }

  static String words(ConsumerRecord<String, String> r) {
    return words(r.key(), r.value(), r.headers(), r.timestamp());
  }

  static List<ProducerRecord<String, String>> make(String topic, String codec, int first, int n) {
    var records = new ArrayList<ProducerRecord<String, String>>();
    for (int i = 0; i < n; i++) {
      String key = i % 10 == 7 ? null : "key-" + i % 10;
      String value = i % 10 == 3 ? null : i % 10 == 5 ? "" : codec + " " + i + " " + "x".repeat(200);
      List<Header> headers = List.of(new RecordHeader("codec", codec.getBytes()), new RecordHeader("same", "1".getBytes()),
          new RecordHeader("same", "2".getBytes()), new RecordHeader("empty", new byte[0]), new RecordHeader("null", (byte[]) null));
      records.add(new ProducerRecord<>(topic, null, BASE + (first + i) * 1000L, key, value, headers));
    }
    return records;
  }

  final String server, protocol, topic, group;
  final Admin admin;
  final Set<Integer> every = Set.of(0, 1, 2);

  Scenario(String server, String protocol) {
    this.server = server;
    this.protocol = protocol;
    topic = "java-" + protocol + "-" + ProcessHandle.current().pid();
    group = topic + "-group";
    admin = Admin.create(Map.of("bootstrap.servers", server));
  }

  KafkaConsumer<String, String> consumer(String group) {
    Map<String, Object> config = new HashMap<>(Map.of("bootstrap.servers", server, "auto.offset.reset", "earliest",
        "enable.auto.commit", "false", "group.protocol", protocol));
    if (protocol.equals("classic")) config.put("heartbeat.interval.ms", "500");
    if (group != null) config.put("group.id", group);
    return new KafkaConsumer<>(config, new StringDeserializer(), new StringDeserializer());
  }

  /** A member of the group in a thread of its own, as KafkaConsumer wants it. */
  class Member implements Callable<Void> {
    final Map<TopicPartition, NavigableMap<Long, ConsumerRecord<String, String>>> read = new ConcurrentHashMap<>();
    volatile Set<Integer> owned = Set.of();
    final CountDownLatch leaving = new CountDownLatch(1);
    final FutureTask<Void> task = new FutureTask<>(this);

    Member() { new Thread(task).start(); }

    public Void call() {
      try (var consumer = consumer(group)) {
        consumer.subscribe(List.of(topic));
        while (leaving.getCount() > 0) {
          for (var r : consumer.poll(Duration.ofMillis(200)))
            read.computeIfAbsent(new TopicPartition(r.topic(), r.partition()), p -> new ConcurrentSkipListMap<>()).put(r.offset(), r);
          owned = consumer.assignment().stream().map(TopicPartition::partition).collect(Collectors.toSet());
        }
        consumer.commitSync();
      }
      return null;
    }

    void leave() throws Exception {
      leaving.countDown();
      task.get(LIMIT, TimeUnit.SECONDS);
    }
  }

  Map<TopicPartition, NavigableMap<Long, ConsumerRecord<String, String>>> together(Member... members) {
    var all = new HashMap<TopicPartition, NavigableMap<Long, ConsumerRecord<String, String>>>();
    for (var m : members) m.read.forEach((p, records) -> all.computeIfAbsent(p, q -> new TreeMap<>()).putAll(records));
    return all;
  }

  static int count(Map<?, ? extends Map<?, ?>> read) { return read.values().stream().mapToInt(Map::size).sum(); }

  /** Everything sent is there, each record as it was sent, in order and without holes. */
  void compare(Map<TopicPartition, NavigableMap<Long, ConsumerRecord<String, String>>> read, List<ProducerRecord<String, String>> sent) {
    var want = sent.stream().map(r -> words(r.key(), r.value(), r.headers(), r.timestamp())).collect(Collectors.toCollection(TreeSet::new));
    var seen = read.values().stream().flatMap(m -> m.values().stream()).map(Scenario::words).collect(Collectors.toCollection(TreeSet::new));
    check(count(read) == sent.size(), "the number of records", count(read), sent.size());
    if (!seen.equals(want)) { seen.removeAll(want); check(false, "what was read is what was sent", seen.first()); }
    var last = new HashMap<String, ConsumerRecord<String, String>>();
    read.forEach((p, records) -> {
      if (records.lastKey() != records.size() - 1) check(false, "no hole in the offsets", p, records.keySet());
      for (var r : records.values()) {
        var before = r.key() == null ? null : last.put(r.key(), r);
        if (before != null && (before.partition() != r.partition() || before.timestamp() >= r.timestamp())) check(false, "the order of a key", r);
      }
    });
    check(true, "content and order");
  }

  Map<TopicPartition, NavigableMap<Long, ConsumerRecord<String, String>>> groups(List<ProducerRecord<String, String>> sent) throws Exception {
    Member a = new Member(), b = new Member();
    until("two members share the partitions", () -> !a.owned.isEmpty() && !b.owned.isEmpty() && a.owned.size() + b.owned.size() == PARTITIONS);
    until("all is read", () -> count(together(a, b)) >= sent.size());
    var read = together(a, b);
    compare(read, sent);
    a.leave();
    until("the other takes over", () -> b.owned.equals(every));
    var late = make(topic, "none", sent.size(), 30);
    produce("none", late);
    until("the rest is read", () -> count(together(a, b)) >= sent.size() + late.size());
    var described = admin.describeConsumerGroups(List.of(group)).all().get().get(group);
    check(described.groupState().toString().equals("Stable") && described.members().size() == 1, "the group with one member", described);
    check(described.type().toString().equalsIgnoreCase(protocol), "the type of the group", described);
    b.leave();
    compare(together(a, b), Stream.concat(sent.stream(), late.stream()).toList());
    var ends = together(a, b).entrySet().stream().collect(Collectors.toMap(Map.Entry::getKey, e -> e.getValue().lastKey() + 1));
    var committed = admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get().entrySet().stream()
        .collect(Collectors.toMap(Map.Entry::getKey, e -> e.getValue().offset()));
    check(committed.equals(ends), "the committed offsets", committed, ends);
    var again = new Member();
    until("the group comes back", () -> again.owned.equals(every));
    again.leave();
    check(again.read.isEmpty(), "nothing is read twice after a commit", again.read);
    check(admin.listGroups().all().get().stream().anyMatch(g -> g.groupId().equals(group)), "the group is listed");
    admin.deleteConsumerGroups(List.of(group)).all().get();
    check(admin.listGroups().all().get().stream().noneMatch(g -> g.groupId().equals(group)), "the group is gone");
    return read;
  }

  void produce(String codec, List<ProducerRecord<String, String>> records) throws Exception {
    Map<String, Object> config = Map.of("bootstrap.servers", server, "compression.type", codec, "linger.ms", "20");
    try (var producer = new KafkaProducer<>(config, new StringSerializer(), new StringSerializer())) {
      for (var sent : records.stream().map(producer::send).toList()) sent.get(30, TimeUnit.SECONDS);
    }
  }

  void seekByTime(Map<TopicPartition, NavigableMap<Long, ConsumerRecord<String, String>>> read) {
    long wanted = BASE + 250_000 - 500;
    try (var consumer = consumer(null)) {
      var found = consumer.offsetsForTimes(read.keySet().stream().collect(Collectors.toMap(p -> p, p -> wanted)));
      for (var p : read.keySet()) {
        var first = read.get(p).values().stream().filter(r -> r.timestamp() >= wanted).findFirst().get();
        check(found.get(p).offset() == first.offset(), "the offset by time", found, first);
        consumer.assign(List.of(p));
        consumer.seek(p, found.get(p).offset());
        check(words(consumer.poll(Duration.ofSeconds(10)).iterator().next()).equals(words(first)), "the record after a seek", first);
      }
      var beyond = consumer.offsetsForTimes(read.keySet().stream().collect(Collectors.toMap(p -> p, p -> BASE + 1_000_000_000L)));
      check(beyond.values().stream().allMatch(Objects::isNull), "no offset beyond the last time", beyond);
    }
  }

  void run() throws Exception {
    admin.createTopics(List.of(new NewTopic(topic, PARTITIONS, (short) 1).configs(Map.of("retention.ms", "172800000")))).all().get();
    var described = admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic);
    check(described.partitions().size() == PARTITIONS, "the number of partitions", described);
    var resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
    var config = admin.describeConfigs(List.of(resource)).all().get().get(resource);
    check(config.get("retention.ms").value().equals("172800000"), "a configuration of the topic", config);
    var sent = new ArrayList<ProducerRecord<String, String>>();
    for (var codec : List.of("none", "gzip", "snappy", "lz4", "zstd")) {
      var records = make(topic, codec, sent.size(), PER_CODEC);
      produce(codec, records);
      sent.addAll(records);
    }
    seekByTime(groups(sent));
    admin.deleteTopics(List.of(topic)).all().get();
    until("the topic is gone", () -> {
      try { return !admin.listTopics().names().get().contains(topic); } catch (Exception e) { throw new RuntimeException(e); }
    });
    admin.close();
  }

  public static void main(String[] args) throws Exception {
    var protocol = args.length > 1 ? args[1] : "classic";
    try {
      new Scenario(args[0], protocol).run();
    } catch (Throwable t) {
      System.out.println("FAILED: " + t);
      t.printStackTrace();
      System.exit(1);
    }
    var version = new Properties();
    version.load(KafkaConsumer.class.getResourceAsStream("/kafka/kafka-version.properties"));
    System.out.println("ok java-" + protocol + " " + version.getProperty("version") + " " + checks);
  }
}
