import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.*;
import java.time.Duration;
import java.util.*;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.*;

/** Writes or reads one topic, for cross.py beside it. Arguments: ADDRESS write|read TOPIC [COUNT]. Lines as main.go's. */
public class Cross {
  static final ObjectMapper JSON = new ObjectMapper();

  public static void main(String[] args) throws Exception {
    if (args[1].equals("write")) write(args[0], args[2]);
    else read(args[0], args[2], Integer.parseInt(args[3]));
  }

  static void write(String server, String topic) throws Exception {
    try (var producer = new KafkaProducer<>(Map.<String, Object>of("bootstrap.servers", server),
        new ByteArraySerializer(), new ByteArraySerializer())) {
      for (String line : new BufferedReader(new InputStreamReader(System.in)).lines().toList()) {
        Map<?, ?> r = JSON.readValue(line, Map.class);
        var record = new ProducerRecord<>(topic, bytes(r.get("key")), bytes(r.get("value")));
        if (r.get("headers") != null) {
          for (Object h : (List<?>) r.get("headers")) {
            record.headers().add(new String(bytes(((List<?>) h).get(0)), "UTF-8"), bytes(((List<?>) h).get(1)));
          }
        }
        producer.send(record).get(30, TimeUnit.SECONDS);
      }
    }
  }

  static void read(String server, String topic, int count) throws Exception {
    try (var consumer = new KafkaConsumer<>(Map.<String, Object>of("bootstrap.servers", server),
        new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
      var partition = new TopicPartition(topic, 0);
      consumer.assign(List.of(partition));
      consumer.seekToBeginning(List.of(partition));
      long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
      while (count > 0 && System.nanoTime() < deadline) {
        for (var r : consumer.poll(Duration.ofMillis(500))) {
          var line = new LinkedHashMap<String, Object>();
          line.put("key", r.key());
          line.put("value", r.value());
          var headers = new ArrayList<Object>();
          for (var h : r.headers()) headers.add(Arrays.asList(h.key().getBytes("UTF-8"), h.value()));
          line.put("headers", headers);
          System.out.println(JSON.writeValueAsString(line));
          count--;
        }
      }
      if (count > 0) throw new IllegalStateException(count + " records did not come");
    }
  }

  static byte[] bytes(Object base64) {
    return base64 == null ? null : Base64.getDecoder().decode((String) base64);
  }
}
