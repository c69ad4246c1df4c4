package broker

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/go-viper/mapstructure/v2"
)

// Bytes is a size. In settings it is a number of bytes, or a number with one of the units KiB, MiB, GiB.
type Bytes int64

// Settings are topic settings by Kafka's names. In YAML it is a mapping, in the environment "key=value; key=value".
type Settings map[string]string

// decodeValue turns what a file or the environment holds into the type of a setting. It is stricter than the decoder
// that calls it: no number is rounded or cut, and no number is taken for a duration.
func decodeValue(from, to reflect.Value) (any, error) {
	text, isText := from.Interface().(string)
	switch to.Interface().(type) {
	case time.Duration:
		if d, err := time.ParseDuration(text); isText && err == nil {
			return d, nil
		}
		return nil, fmt.Errorf("%v is not a duration with a unit, such as 500ms, 10s or 168h", from)
	case Bytes:
		if isText {
			return parseBytes(text)
		}
	case Settings:
		return parseSettings(from.Interface())
	}
	switch {
	case isText && to.Kind() == reflect.Bool:
		v, err := strconv.ParseBool(text)
		return v, orReason(err, "%q is not true or false", text)
	case isText && to.CanInt():
		v, err := strconv.ParseInt(text, 10, to.Type().Bits())
		return v, orReason(err, "%q is not a whole number of %d bits", text, to.Type().Bits())
	case from.CanFloat() && to.CanInt():
		return nil, fmt.Errorf("%v is not a whole number", from)
	case from.CanInt() && to.CanInt() && to.OverflowInt(from.Int()):
		return nil, fmt.Errorf("%v is too large", from)
	}
	return from.Interface(), nil
}

// orReason replaces an error by one in the words of the settings.
func orReason(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf(format, args...)
}

func parseBytes(text string) (Bytes, error) {
	number, unit := text, int64(1)
	for suffix, size := range map[string]int64{"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30} {
		if rest, ok := strings.CutSuffix(text, suffix); ok {
			number, unit = strings.TrimSpace(rest), size
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n > (1<<62)/unit || n < 0 {
		return 0, fmt.Errorf("%q is not a size, such as 4096, 64KiB, 256MiB or 2GiB", text)
	}
	return Bytes(n * unit), nil
}

func parseSettings(v any) (Settings, error) {
	out := Settings{}
	switch v := v.(type) {
	case Settings:
		return v, nil
	case map[string]any:
		for key, value := range v {
			switch value.(type) {
			case string, bool, int, int64, uint64, float64:
				out[key] = fmt.Sprint(value)
			default:
				return nil, fmt.Errorf("%s has no single value", key)
			}
		}
	case string:
		for pair := range strings.SplitSeq(v, ";") {
			if strings.TrimSpace(pair) == "" {
				continue
			}
			key, value, ok := strings.Cut(pair, "=")
			if !ok {
				return nil, fmt.Errorf("%q is not key=value", strings.TrimSpace(pair))
			}
			out[strings.TrimSpace(key)] = strings.TrimSpace(value)
		}
	default:
		return nil, fmt.Errorf("%v is not a mapping of topic settings", v)
	}
	return out, nil
}

// reason puts a decoder's error into the words of the settings.
func reason(err error) string {
	if wrong := (*mapstructure.UnconvertibleTypeError)(nil); errors.As(err, &wrong) {
		return fmt.Sprintf("wants %s, has %v (%T)", kindName(wrong.Expected.Kind()), wrong.Value, wrong.Value)
	}
	if strings.HasPrefix(err.Error(), "expected a map") {
		return "is a group of settings, not a single value"
	}
	return err.Error()
}

func kindName(k reflect.Kind) string {
	switch k {
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a text"
	case reflect.Int, reflect.Int32, reflect.Int64:
		return "a whole number"
	}
	return k.String()
}
