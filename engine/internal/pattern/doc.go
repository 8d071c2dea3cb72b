// Package pattern matches the regular expressions of schemas and rules like package regexp, but faster for ASCII text,
// interruptibly, and with memory that is shared and bounded for the whole process.
//
// Read pattern.go first. dfa.go is the fast path, memory.go bounds the memory.
package pattern
