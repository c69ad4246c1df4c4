// Package broker puts the parts together: configuration, life cycle, listeners, admin HTTP and metrics.
package broker
