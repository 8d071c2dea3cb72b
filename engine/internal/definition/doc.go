// Package definition knows what an API server does with a CRD itself: decoding a manifest of either API version, defaults,
// the conversion from v1beta1, everything that is checked when a CRD is created, and the warnings that come with the answer.
//
// The rules on schemas alone stand in engine/internal/schema. This package adds the CRD around them, the order of the checks, and
// the checks that need a compiled program: defaults must be pruned and valid.
package definition
