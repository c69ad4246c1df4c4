package topic

import (
	"fmt"
	"strings"
)

// maxName is the longest name: a directory in Kafka, which adds "-" and a partition, must fit into 255 bytes.
const maxName = 249

// checkName applies Kafka's rules for topic names: ErrBadName.
func checkName(name string) error {
	switch {
	case name == "":
		return fmt.Errorf("%w: it is empty", ErrBadName)
	case len(name) > maxName:
		return fmt.Errorf("%w: %d characters, at most %d are allowed", ErrBadName, len(name), maxName)
	case name == "." || name == "..":
		return fmt.Errorf("%w: %q", ErrBadName, name)
	}
	for i := range len(name) {
		c := name[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '.', c == '_', c == '-':
		default:
			return fmt.Errorf("%w: %q has characters other than a-z, A-Z, 0-9, '.', '_' and '-'", ErrBadName, name)
		}
	}
	return nil
}

// fold makes names equal that may not exist side by side: metrics, and streams, write "." as "_".
func fold(name string) string { return strings.ReplaceAll(name, ".", "_") }
