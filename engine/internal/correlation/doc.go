// Package correlation finds the old values of the values of an updated object, and compares them, like upstream does.
// Ratcheting (unchanged values may stay invalid) and transition rules (self and oldSelf) use it.
//
// Members of objects correlate by name if the schema knows them, and elements of map lists by their keys. Elements of
// other lists do not correlate.
//
// Equal is not DeepEqual, since it descends by correlation: an object with a member that the schema does not know is
// not even equal to itself, and a map list is equal to the same elements in another order. Values that do not correlate
// below themselves (other lists, scalars) are compared like reflect.DeepEqual: the integer 1 is not the float 1.0.
//
// The package is generic over the schema.
//
// Upstream: k8s.io/apiserver pkg/cel/common/equality.go and maplist.go.
package correlation
