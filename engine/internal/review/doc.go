// Package review says what an API server would make of a CRD, in a form that a person can act on: the findings with their
// places in the manifest as it was written, the versions in their order of priority, what the CRD needs of a cluster.
//
// The judgement itself is package definition's.
package review
