// Package generate generates cases: CRDs and objects that are likely to show differences between two implementations.
//
// Everything is a pure function of a seed, so a seed and a number identify a disagreement on every machine. Most
// generated CRDs are valid, because a rejected CRD has no objects. Objects are derived from a valid one with few
// defects, because an object with many errors tests little.
package generate
