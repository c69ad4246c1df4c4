package topic

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// maxSetting bounds the length of a setting's value in bytes.
const maxSetting = 16 << 10

// Type is a setting's value type, numbered as in Kafka's DescribeConfigs v3.
type Type int8

const (
	Boolean Type = 1
	String  Type = 2
	Int     Type = 3
	Short   Type = 4
	Long    Type = 5
	Double  Type = 6
	List    Type = 7
	Class   Type = 8
)

// spec is one row of the table of settings.
type spec struct {
	name   string
	kind   Type
	value  string // the built-in default
	broker string // the broker-wide name in Kafka; empty when there is none
	check  check  // beyond the type; may be nil
	doc    string
}

// check says why a value of the right type is refused.
type check func(value string) error

// find returns the row of a setting: ErrBadConfig when there is none.
func find(name string) (*spec, error) {
	i, ok := slices.BinarySearchFunc(specs, name, func(s spec, name string) int { return strings.Compare(s.name, name) })
	if !ok {
		return nil, fmt.Errorf("%w: %q is unknown", ErrBadConfig, name)
	}
	return &specs[i], nil
}

// brokerName is the name of the same setting for the whole broker.
func (s *spec) brokerName() string {
	if s.broker == "" {
		return s.name
	}
	return s.broker
}

// parse checks a value and returns it in the form in which it is stored: ErrBadConfig with name, value and reason.
func (s *spec) parse(value string) (string, error) {
	if len(value) > maxSetting {
		return "", fmt.Errorf("%w: %s: %d bytes, at most %d are allowed", ErrBadConfig, s.name, len(value), maxSetting)
	}
	canonical, err := s.kind.parse(strings.TrimSpace(value))
	if err == nil && s.check != nil {
		err = s.check(canonical)
	}
	if err != nil {
		return "", fmt.Errorf("%w: %s = %q: %w", ErrBadConfig, s.name, value, err)
	}
	return canonical, nil
}

// parse returns value in the one form in which this type writes it.
func (t Type) parse(value string) (string, error) {
	switch t {
	case Boolean:
		value = strings.ToLower(value)
		if value != "true" && value != "false" {
			return "", fmt.Errorf("want true or false")
		}
		return value, nil
	case Int, Long:
		size, name := 64, "a whole number"
		if t == Int {
			size, name = 32, "a whole number of 32 bits"
		}
		n, err := strconv.ParseInt(value, 10, size)
		if err != nil {
			return "", fmt.Errorf("want %s", name)
		}
		return strconv.FormatInt(n, 10), nil
	case Double:
		f, err := strconv.ParseFloat(value, 64)
		if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
			return "", fmt.Errorf("want a number")
		}
		return strconv.FormatFloat(f, 'g', -1, 64), nil
	case List:
		items, err := splitList(value)
		return strings.Join(items, ","), err
	}
	return value, nil
}

// splitList returns the items of a list, each one once.
func splitList(value string) ([]string, error) {
	if value == "" {
		return nil, nil
	}
	var items []string
	for item := range strings.SplitSeq(value, ",") {
		item = strings.TrimSpace(item)
		if item == "" {
			return nil, fmt.Errorf("an item of the list is empty")
		}
		if !slices.Contains(items, item) {
			items = append(items, item)
		}
	}
	return items, nil
}

// atLeast refuses whole numbers below least.
func atLeast(least int64) check {
	return func(value string) error {
		if n, _ := strconv.ParseInt(value, 10, 64); n < least {
			return fmt.Errorf("want at least %d", least)
		}
		return nil
	}
}

// between refuses numbers outside [least, most].
func between(least, most float64) check {
	return func(value string) error {
		if f, _ := strconv.ParseFloat(value, 64); f < least || f > most {
			return fmt.Errorf("want %v to %v", least, most)
		}
		return nil
	}
}

// oneOf refuses every word but these.
func oneOf(words ...string) check {
	return func(value string) error {
		if !slices.Contains(words, value) {
			return fmt.Errorf("want one of %s", strings.Join(words, ", "))
		}
		return nil
	}
}

// eachOf refuses a list with other items than these.
func eachOf(words ...string) check {
	return func(value string) error {
		items, _ := splitList(value)
		for _, item := range items {
			if !slices.Contains(words, item) {
				return fmt.Errorf("want a list of %s", strings.Join(words, ", "))
			}
		}
		return nil
	}
}

// gzipLevel is -1 for the codec's own default, or 1 to 9.
func gzipLevel(value string) error {
	if value == "-1" {
		return nil
	}
	if between(1, 9)(value) != nil {
		return fmt.Errorf("want 1 to 9, or -1 for the default")
	}
	return nil
}

// replicas is "*" or a list of PARTITION:BROKER.
func replicas(value string) error {
	items, _ := splitList(value)
	for _, item := range items {
		if ok, _ := regexp.MatchString(`^[0-9]+:[0-9]+$`, item); !ok && value != "*" {
			return fmt.Errorf("want * or a list of PARTITION:BROKER")
		}
	}
	return nil
}

// notYet refuses true, because ignoring it would lose what the user relies on.
func notYet(what string) check {
	return func(value string) error {
		if value == "true" {
			return fmt.Errorf("this broker has no %s", what)
		}
		return nil
	}
}
