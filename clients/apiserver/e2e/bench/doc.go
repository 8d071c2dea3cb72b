// Package bench compares the CPU time of crdeval-apiserver, with both evaluators, with that of upstream's API server.
// make apiserver-bench runs it.
package bench
