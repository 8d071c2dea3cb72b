// Package quirk lets a test build switch off, one at a time, the surprising behaviours of Kubernetes that the engine
// reproduces.
//
// The engine calls On with the behaviour's name wherever code exists only because of that behaviour. In a normal build
// On is the constant true and costs nothing. In a build with the tag "quirks", Off makes the engine behave as one would
// expect without the quirk, and the conformance run must then report a disagreement: that proves that some case
// exercises the behaviour. Some calls happen when a schema is compiled, so switch before compiling.
package quirk
