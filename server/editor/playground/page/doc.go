// Package page has the functions that the page of the playground calls. They evaluate its documents: a CRD, an object
// and optionally the stored object. They are the pure part of the playground, without I/O. The HTTP handler (package
// playground) and the WebAssembly module (deploy/playground) call them, and send and receive their types as JSON.
//
// Evaluate returns the Report of an Input, Explain returns the output of kubectl explain, and Examples returns the
// examples of the page. Complete and Hover return what package assist knows about a position.
package page
