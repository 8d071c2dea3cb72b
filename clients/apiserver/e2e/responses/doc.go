// Package responses compares the responses of crdeval-apiserver with those of upstream's API server. The requests are
// in testdata: single requests, and histories of an object. A history is repeated if its responses differ because a
// second passed during it.
package responses
