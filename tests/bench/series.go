package main

import (
	"fmt"
	"io"
	"slices"
	"time"
)

// series are the rates of one kind of measurement, in MB/s.
type series []float64

func (s series) median() float64 {
	sorted := slices.Sorted(slices.Values(s))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}

func (s series) print(out io.Writer, name string) {
	fmt.Fprintf(out, "%-34s %8.1f %8.1f %8.1f\n", name, slices.Min(s), s.median(), slices.Max(s))
}

// rate is megabytes (10^6 bytes) a second.
func rate(bytes int64, took time.Duration) float64 {
	return float64(bytes) / 1e6 / took.Seconds()
}
