// Package route knows who listens on which subject: the subscriptions of all clients, and who waits for one of them to
// begin or end.
//
// Subscriptions are a tree by the tokens of their subjects. One lock guards it; nothing else happens while it is held.
// What has matched can be remembered as long as Version stays the same.
package route
