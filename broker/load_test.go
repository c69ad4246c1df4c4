package broker

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"
)

const shippedConfig = "../config.yaml"

func TestShippedConfigIsTheDefaults(t *testing.T) {
	c, err := Load(shippedConfig, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(c, Default()) {
		t.Errorf("config.yaml gives\n%+v\nthe defaults are\n%+v", c, Default())
	}
}

func TestShippedConfigNamesEverySetting(t *testing.T) {
	b, err := os.ReadFile(shippedConfig)
	if err != nil {
		t.Fatal(err)
	}
	var file map[string]any
	if err := yaml.Unmarshal(b, &file); err != nil {
		t.Fatal(err)
	}
	for _, key := range keys() {
		m, parts := file, strings.Split(key, keyDelimiter)
		for _, part := range parts[:len(parts)-1] {
			m, _ = m[part].(map[string]any)
		}
		if _, ok := m[parts[len(parts)-1]]; !ok {
			t.Errorf("config.yaml has no %s", key)
		}
	}
}

// Each file of testdata/bad begins with comment lines that are the problems it must be refused with.
func TestBadConfig(t *testing.T) {
	files, err := filepath.Glob("testdata/bad/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no fixtures", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var want []string
			for line := range strings.Lines(string(b)) {
				text, ok := strings.CutPrefix(line, "# ")
				if !ok {
					break
				}
				want = append(want, strings.TrimSpace(text))
			}
			_, err = Load(file, nil)
			wrong := (*ConfigError)(nil)
			if !errors.As(err, &wrong) {
				t.Fatalf("got %v, want a ConfigError", err)
			}
			if got := strings.Join(wrong.Problems, "\n"); got != strings.Join(want, "\n") {
				t.Errorf("got\n%s\nwant\n%s", got, strings.Join(want, "\n"))
			}
		})
	}
}

func TestLoadOrder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.yaml")
	text := "data: /file\nkafka: {listen: 'file:1', max_request: 2MiB}\nhttp: {listen: 'file:2'}\n" +
		"topic: {settings: {retention.ms: 1000, cleanup.policy: delete}}\n"
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("BROKERD_KAFKA_LISTEN", "env:1")
	t.Setenv("BROKERD_HTTP_LISTEN", "env:2")
	t.Setenv("BROKERD_HTTP_PPROF", "true")
	t.Setenv("BROKERD_TOPIC_PARTITIONS", "7")
	t.Setenv("BROKERD_SHUTDOWN_DRAIN", "1m")
	t.Setenv("BROKERD_MEMORY_BUDGET", "1GiB")
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	AddFlags(flags)
	if err := flags.Parse([]string{"--http", "flag:2"}); err != nil {
		t.Fatal(err)
	}
	c, err := Load(file, flags)
	if err != nil {
		t.Fatal(err)
	}
	want := Default()
	want.Data = "/file"
	want.Kafka.Listen = "env:1"
	want.Kafka.MaxRequest = 2 << 20
	want.HTTP = HTTPConfig{Listen: "flag:2", Pprof: true}
	want.Topic.Partitions = 7
	want.Topic.Settings = Settings{"retention.ms": "1000", "cleanup.policy": "delete"}
	want.Shutdown.Drain = time.Minute
	want.Memory.Budget = 1 << 30
	if !reflect.DeepEqual(c, want) {
		t.Errorf("got\n%+v\nwant\n%+v", c, want)
	}
}

func TestEverySettingHasAnEnvironmentName(t *testing.T) {
	seen := map[string]string{}
	for _, key := range keys() {
		name := envName(key)
		if other, ok := seen[name]; ok {
			t.Errorf("%s and %s are both %s", key, other, name)
		}
		seen[name] = key
	}
	if len(seen) < 20 {
		t.Errorf("only %d settings found: %v", len(seen), keys())
	}
	for name := range seen { // a value of the wrong type for most, and of no sense for the rest
		t.Run(name, func(t *testing.T) {
			t.Setenv(name, ";;")
			if name == "BROKERD_DATA" || name == "BROKERD_TOPIC_SETTINGS" || name == "BROKERD_NATS_AUTH_TOKEN" {
				t.Setenv(name, "a=b")
				if _, err := Load("", nil); err != nil {
					t.Error(err)
				}
				return
			}
			if _, err := Load("", nil); err == nil || !strings.Contains(err.Error(), "set by "+name) {
				t.Errorf("got %v, want a problem that names %s", err, name)
			}
		})
	}
}

func TestTopicSettingsFromTheEnvironment(t *testing.T) {
	t.Setenv("BROKERD_TOPIC_SETTINGS", "retention.ms=5; cleanup.policy=compact,delete")
	c, err := Load("", nil)
	if err != nil {
		t.Fatal(err)
	}
	want := Settings{"retention.ms": "5", "cleanup.policy": "compact,delete"}
	if !reflect.DeepEqual(c.Topic.Settings, want) {
		t.Errorf("got %v, want %v", c.Topic.Settings, want)
	}
}

func TestUnknownEnv(t *testing.T) {
	got := UnknownEnv([]string{"BROKERD_KAFKA_LISTN=x", "BROKERD_KAFKA_LISTEN=x", "HOME=/", "BROKERD_PORT=1", "BROKERD_SERVER=x"})
	if want := []string{"BROKERD_KAFKA_LISTN", "BROKERD_PORT"}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestMissingFile(t *testing.T) {
	wrong := (*ConfigError)(nil)
	if _, err := Load(filepath.Join(t.TempDir(), "none.yaml"), nil); !errors.As(err, &wrong) {
		t.Errorf("got %v, want a ConfigError", err)
	}
}
