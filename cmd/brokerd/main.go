// Command brokerd is the broker and its tools.
package main

func main() {}
