package broker

import "runtime/debug"

// Build says which sources a binary was made from.
type Build struct {
	Version string `json:"version"` // module version, "(devel)" for a local build
	Commit  string `json:"commit,omitempty"`
	Go      string `json:"go"`
}

// BuildInfo describes the running binary, as the Go toolchain stamped it.
func BuildInfo() Build {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return Build{Version: "(unknown)"}
	}
	b := Build{Version: info.Main.Version, Go: info.GoVersion}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			b.Commit = s.Value
		}
	}
	return b
}
