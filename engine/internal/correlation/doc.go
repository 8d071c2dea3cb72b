// Package correlation finds, for the values of an object that is being updated, the values that they had before, and tells whether
// they are still the same, exactly as the reference does. Ratcheting (what is unchanged may stay invalid) and transition rules (self and
// oldSelf) stand on it.
//
// What correlates: members of objects by their names, as far as the schema has something to say about them; elements of lists of
// type map by their keys. Elements of other lists correlate with nothing.
//
// Equal is not DeepEqual: it descends by correlation, so an object with a member that the schema does not know is not even equal to
// itself, and a list of type map is equal to the same elements in another order. Only what does not correlate below itself (other
// lists, scalars) is compared as reflect.DeepEqual compares: the integer 1 is not the float 1.0.
//
// The package is generic over the schema, which is the compiled program's: it stands below it.
//
// Upstream: k8s.io/apiserver pkg/cel/common/equality.go and maplist.go.
package correlation
