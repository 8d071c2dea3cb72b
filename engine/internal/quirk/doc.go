// Package quirk lets a test build switch off, one at a time, the surprising behaviours of the reference that the engine
// reproduces on purpose.
//
// The engine asks On(n) at each place that exists only because the reference behaves oddly there; n is the number of the
// behaviour in the project's list of quirks. In a normal build On is the constant true and the question costs nothing. In a
// build with the tag "quirks", Off(n) makes the engine behave there as an innocent implementation would, and the conformance
// run has to turn red: that proves that some case really exercises the behaviour. Some questions are asked when a schema is
// compiled, so switch before compiling.
package quirk
