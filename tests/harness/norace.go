//go:build !race

package harness

// Race says that this program, and what Build makes, has the race detector, which multiplies memory and time.
const Race = false
