// Package pattern matches regular expressions, of schemas and of rules, as package regexp would: faster where the text is ASCII, in
// memory that is shared and bounded for the whole process, and so that a long match can be stopped.
//
// It knows nothing of schemas. Read pattern.go first; dfa.go is the fast way, memory.go keeps the bound.
package pattern
