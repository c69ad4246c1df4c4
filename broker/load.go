package broker

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/go-viper/mapstructure/v2"
	"github.com/spf13/pflag"
	"github.com/spf13/viper"
)

// keyDelimiter joins the parts of a setting's path inside viper. It is not "." because topic settings have dots in
// their names.
const keyDelimiter = "/"

const envPrefix = "BROKERD_"

// ConfigError lists everything that is wrong with the settings. The broker does not start with any of it.
type ConfigError struct {
	Problems []string // each names the setting's path in the file and the reason
}

func (e *ConfigError) Error() string {
	return "wrong settings:\n  " + strings.Join(e.Problems, "\n  ")
}

// AddFlags declares the flags that Load reads.
func AddFlags(flags *pflag.FlagSet) {
	d := Default()
	flags.String("data", d.Data, "data directory")
	flags.String("kafka", d.Kafka.Listen, "address of the Kafka listener; port 0 takes a free one")
	flags.String("nats", d.NATS.Listen, "address of the NATS listener; port 0 takes a free one")
	flags.String("http", d.HTTP.Listen, "address of the admin HTTP listener (health, metrics)")
	flags.String("log-level", d.Log.Level, "trace, debug, info, warn or error")
	flags.String("log-format", d.Log.Format, "console, json, or auto: console on a terminal")
}

// flagKeys are the settings of the flags of AddFlags.
func flagKeys() map[string]string {
	return map[string]string{
		"data":       "data",
		"kafka":      "kafka/listen",
		"nats":       "nats/listen",
		"http":       "http/listen",
		"log-level":  "log/level",
		"log-format": "log/format",
	}
}

// Load reads the settings: the defaults, then the YAML file at path (none if path is empty), then the environment,
// then the flags that were given (flags may be nil); the later wins. Unknown settings, wrong types and wrong values
// are refused with a *ConfigError, all of them at once.
func Load(path string, flags *pflag.FlagSet) (Config, error) {
	v := viper.NewWithOptions(viper.KeyDelimiter(keyDelimiter))
	v.SetConfigType("yaml")
	if path != "" {
		if err := readFile(v, path); err != nil {
			return Config{}, err
		}
	}
	source := map[string]string{} // where a setting comes from, if not from the file
	for _, key := range keys() {
		if err := v.BindEnv(key, envName(key)); err != nil {
			return Config{}, fmt.Errorf("bind %s: %w", envName(key), err)
		}
		if os.Getenv(envName(key)) != "" {
			source[key] = envName(key)
		}
	}
	for name, key := range flagKeys() {
		if flags == nil || !flags.Changed(name) {
			continue
		}
		if err := v.BindPFlag(key, flags.Lookup(name)); err != nil {
			return Config{}, fmt.Errorf("bind --%s: %w", name, err)
		}
		source[key] = "--" + name
	}

	c := Default()
	problems := decode(v, &c) // what could not be decoded keeps its default, which is no second problem
	for key, problem := range c.problems() {
		problems[key] = problem
	}
	if len(problems) == 0 {
		return c, nil
	}
	e := &ConfigError{}
	for _, key := range slices.Sorted(maps.Keys(problems)) {
		text := strings.ReplaceAll(key, keyDelimiter, ".") + ": " + problems[key]
		if s := source[key]; s != "" {
			text += " (set by " + s + ")"
		}
		e.Problems = append(e.Problems, text)
	}
	return Config{}, e
}

func readFile(v *viper.Viper, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return &ConfigError{Problems: []string{err.Error()}}
	}
	defer f.Close()
	if err := v.ReadConfig(f); err != nil {
		if inner := errors.Unwrap(err); inner != nil {
			err = inner
		}
		return &ConfigError{Problems: []string{path + ": " + strings.Join(strings.Fields(err.Error()), " ")}}
	}
	return nil
}

// decode puts what v holds into c and returns what is wrong with it, by key.
func decode(v *viper.Viper, c *Config) map[string]string {
	var met mapstructure.Metadata
	err := v.Unmarshal(c, func(d *mapstructure.DecoderConfig) {
		d.WeaklyTypedInput = false
		d.DecodeHook = decodeValue
		d.Metadata = &met
	})
	problems := map[string]string{}
	for _, path := range met.Unused {
		problems[strings.ReplaceAll(path, ".", keyDelimiter)] = "is not a setting"
	}
	addProblems(problems, err)
	return problems
}

// addProblems takes the decoder's joined errors apart.
func addProblems(problems map[string]string, err error) {
	var joined interface{ Unwrap() []error }
	var one *mapstructure.DecodeError
	switch {
	case err == nil:
	case errors.As(err, &joined):
		for _, e := range joined.Unwrap() {
			addProblems(problems, e)
		}
	case errors.As(err, &one):
		problems[strings.ReplaceAll(one.Name(), ".", keyDelimiter)] = reason(one.Unwrap())
	default:
		problems["config"] = err.Error()
	}
}

// keys lists the path of every setting, sorted.
func keys() []string {
	var tree map[string]any
	if err := mapstructure.Decode(Default(), &tree); err != nil {
		panic("broker: Config has a field that is no setting: " + err.Error())
	}
	var out []string
	var walk func(prefix string, m map[string]any)
	walk = func(prefix string, m map[string]any) {
		for name, value := range m {
			if sub, ok := value.(map[string]any); ok {
				walk(prefix+name+keyDelimiter, sub)
			} else {
				out = append(out, prefix+name)
			}
		}
	}
	walk("", tree)
	slices.Sort(out)
	return out
}

func envName(key string) string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(key, keyDelimiter, "_"))
}

// toolsEnv is the variable by which the command line tools find their broker; it is no setting of one.
const toolsEnv = envPrefix + "SERVER"

// UnknownEnv lists the variables of the environment ("name=value" each) that look like settings and are none. They are
// no reason to refuse the start: container platforms add such names for a service that is called brokerd.
func UnknownEnv(environ []string) []string {
	known := map[string]bool{toolsEnv: true}
	for _, key := range keys() {
		known[envName(key)] = true
	}
	var out []string
	for _, pair := range environ {
		name, _, _ := strings.Cut(pair, "=")
		if strings.HasPrefix(name, envPrefix) && !known[name] {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}
