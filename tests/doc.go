// Package tests runs the real binary with real clients, and keeps the rules of the code base (the import ladder).
//
// "go test ./tests/" needs Go alone: TestMain builds the broker, with the race detector if the tests have it, and each
// test starts it on a data directory of its own. Tests named C and a number play the failures that users of other brokers
// have met. The environment may set
//
//	BROKERD_TEST_BINARY  a broker to test instead
//	BROKERD_TEST_KILLS   how often TestKillLoop kills it
//
// Beside it: harness starts, kills and stops a broker and remembers what it acknowledged; conformance/run brings other
// people's clients and tools (kcat, Kafka's own, strace); bench measures; corpus and groupread are programs for those.
package tests
