// Package clients holds client libraries and runnable examples. Nothing here imports the broker.
package clients
