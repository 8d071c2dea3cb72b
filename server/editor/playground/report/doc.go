// Package report evaluates the documents of the playground: a CRD, an object and optionally the stored object.
// It is the pure part of the playground, without I/O. The HTTP handler (package playground) and the WebAssembly module
// (deploy/playground) both call it, and both send and receive its types as JSON.
//
// Evaluate returns the Report of an Input, Explain returns the output of kubectl explain, and Examples returns the
// examples of the page. Complete and Hover return what package editor knows about a position.
package report
