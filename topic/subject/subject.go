package subject

import "strings"

// Valid says that s is a subject or a filter.
func Valid(s string) bool {
	ok, _ := inspect(s)
	return ok
}

// Tokens says that s is tokens, whatever they are: none is empty or has white space.
func Tokens(s string) bool {
	return !strings.ContainsAny(s, "\t\n\f\r ") && !strings.Contains("."+s+".", "..")
}

// Literal says that s is a subject without wildcards.
func Literal(s string) bool {
	ok, wild := inspect(s)
	return ok && !wild
}

// inspect says whether s is valid, and if so, whether it has wildcards.
func inspect(s string) (ok, wild bool) {
	if strings.ContainsAny(s, "\t\n\f\r ") {
		return false, false
	}
	for more := true; more; {
		var token string
		token, s, more = strings.Cut(s, ".")
		switch {
		case token == "", token == ">" && more:
			return false, false
		case token == "*", token == ">":
			wild = true
		}
	}
	return true, wild
}

// Match says that the filter matches the literal subject s.
func Match(filter, s string) bool {
	for {
		want, filterRest, filterMore := strings.Cut(filter, ".")
		if want == ">" {
			return true
		}
		token, rest, more := strings.Cut(s, ".")
		if want != "*" && want != token || filterMore != more {
			return false
		}
		if !more {
			return true
		}
		filter, s = filterRest, rest
	}
}

// Overlap says that there is a literal subject that both filters match.
func Overlap(a, b string) bool {
	for {
		tokenA, restA, moreA := strings.Cut(a, ".")
		tokenB, restB, moreB := strings.Cut(b, ".")
		if tokenA == ">" || tokenB == ">" {
			return true
		}
		if tokenA != tokenB && tokenA != "*" && tokenB != "*" || moreA != moreB {
			return false
		}
		if !moreA {
			return true
		}
		a, b = restA, restB
	}
}

// Subset says that every literal subject that a matches is matched by b as well.
func Subset(a, b string) bool {
	for {
		tokenA, restA, moreA := strings.Cut(a, ".")
		tokenB, restB, moreB := strings.Cut(b, ".")
		if tokenB == ">" {
			return true
		}
		if tokenA == ">" || tokenA != tokenB && tokenB != "*" || moreA != moreB {
			return false
		}
		if !moreA {
			return true
		}
		a, b = restA, restB
	}
}
