// Package tests runs the real binary with real clients, and keeps the rules of the code base (the import ladder).
package tests
