import java.nio.file.*;
import java.time.Duration;
import java.util.*;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.*;

/**
 * Kafka's own client: it produces, consumes as a group and replays. Each record is a NATS message as well, on the subject
 * TOPIC.KEY of the stream TOPIC.
 *
 * <pre>java -cp 'JARS/*' Example.java [KAFKA [TOPIC]]</pre>
 */
public class Example {
  static final String FILE = "Example.java";

  public static void main(String[] args) throws Exception {
    String server = args.length > 0 ? args[0] : "127.0.0.1:9092";
    String topic = args.length > 1 ? args[1] : "java-" + ProcessHandle.current().pid();
    String file = System.getProperty("jdk.launcher.sourcefile", FILE);
    List<String> source = Files.exists(Path.of(file)) ? Files.readAllLines(Path.of(file)) : classes();

    try (Admin admin = Admin.create(Map.<String, Object>of("bootstrap.servers", server))) {
      admin.createTopics(List.of(new NewTopic(topic, 1, (short) 1))).all().get(30, TimeUnit.SECONDS);
    }
    produce(server, topic, source);
    consume(server, topic, source);
    replay(server, topic, source);
  }

  /** The packages of the running Java, if the source is not where the program is started. */
  static List<String> classes() {
    return ModuleLayer.boot().modules().stream().flatMap(m -> m.getPackages().stream()).sorted().toList();
  }

  /** Writes the lines: the line's number is the key. Acknowledged means on disk. */
  static void produce(String server, String topic, List<String> source) throws Exception {
    Map<String, Object> config = Map.of("bootstrap.servers", server, "acks", "all");
    try (var producer = new KafkaProducer<>(config, new StringSerializer(), new StringSerializer())) {
      for (int i = 0; i < source.size(); i++) {
        var record = new ProducerRecord<>(topic, "line." + (i + 1), source.get(i));
        record.headers().add("file", FILE.getBytes());
        producer.send(record, (at, failure) -> {
          if (failure != null) throw new IllegalStateException(failure);
        });
      }
      producer.flush();
    }
    System.out.printf("kafka: produced %d records; on NATS the first is on %s.line.1%n", source.size(), topic);
  }

  /** Reads them as the only member of a group, and commits what it has read. */
  static void consume(String server, String topic, List<String> source) {
    Map<String, Object> config = Map.of("bootstrap.servers", server, "group.id", topic + "-readers",
        "auto.offset.reset", "earliest", "enable.auto.commit", false);
    try (var consumer = new KafkaConsumer<>(config, new StringDeserializer(), new StringDeserializer())) {
      consumer.subscribe(List.of(topic));
      var lines = new ArrayList<String>();
      long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
      while (lines.size() < source.size() && System.nanoTime() < deadline) {
        for (var record : consumer.poll(Duration.ofMillis(500))) {
          check(record.key().equals("line." + (lines.size() + 1)), "the key " + record.key() + " is out of order");
          check(new String(record.headers().lastHeader("file").value()).equals(FILE), "the header is lost");
          lines.add(record.value());
        }
        consumer.commitSync();
      }
      check(lines.equals(source), "the lines differ: " + lines.size() + " of " + source.size());
      var place = consumer.committed(Set.of(new TopicPartition(topic, 0))).get(new TopicPartition(topic, 0));
      System.out.printf("kafka: the group read %d records and committed offset %d%n", lines.size(), place.offset());
    }
  }

  /** Reads a range again, without a group. */
  static void replay(String server, String topic, List<String> source) {
    Map<String, Object> config = Map.of("bootstrap.servers", server);
    try (var consumer = new KafkaConsumer<>(config, new StringDeserializer(), new StringDeserializer())) {
      var partition = new TopicPartition(topic, 0);
      consumer.assign(List.of(partition));
      consumer.seek(partition, 3);
      int n = 0;
      for (long offset = 3; offset < 6; ) {
        for (var record : consumer.poll(Duration.ofSeconds(30))) {
          if (record.offset() >= 6) break;
          check(record.value().equals(source.get((int) record.offset())), "offset " + record.offset() + " differs");
          offset = record.offset() + 1;
          n++;
        }
      }
      System.out.printf("kafka: replayed %d records, from offset 3%n", n);
    }
  }

  static void check(boolean ok, String what) {
    if (!ok) throw new IllegalStateException(what);
  }
}
