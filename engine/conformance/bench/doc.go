// Package bench measures crdeval beside the API server's own library, in one
// process and in alternation, so that a figure of one is worth something next
// to the figure of the other.
package bench
