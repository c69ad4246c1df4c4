// Package subject is the syntax of NATS subjects, and what they match. Everything in it is pure.
//
// A subject is tokens separated by ".", none of them empty, without white space. In a filter, "*" stands for one token, and
// ">" as the last token for one or more.
package subject
