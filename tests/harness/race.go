//go:build race

package harness

// raceFlags makes Build follow the build mode of the program that calls it.
func raceFlags() []string { return []string{"-race"} }
