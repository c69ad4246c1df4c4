// Package consumer knows who reads: groups, their members and assignments, and the offsets they committed.
package consumer
