package subject

// Valid says that s is a subject or a filter.
func Valid(s string) bool { panic("subject: Valid") }

// Literal says that s is a subject without wildcards.
func Literal(s string) bool { panic("subject: Literal") }

// Match says that the filter matches the literal subject s.
func Match(filter, s string) bool { panic("subject: Match") }

// Overlap says that there is a literal subject that both filters match.
func Overlap(a, b string) bool { panic("subject: Overlap") }

// Subset says that every literal subject that a matches is matched by b as well.
func Subset(a, b string) bool { panic("subject: Subset") }
