// Package laws tests conversions between two versions on generated objects. It tests these laws:
//
//   - round trip: a conversion and the conversion back change nothing, except for what is lost by design.
//   - edit: a change made in the other version is kept. A stashed value never overrides it.
//   - locality: the conversion of a part of an object is a part of the conversion of the object.
//     A webhook converts a whole object with managers like other callers do.
//   - metadata: metadata does not change, except for the annotations of conversions.
//   - validity: the conversion of a valid object is valid. No expression fails for all objects.
//   - size: the annotations stay below the limit of Kubernetes.
//   - determinism: equal objects have equal conversions.
//   - status: the round trip, for the status.
//
// An object that breaks a law is shrunk. run.go generates the objects. Each of the other files checks one or two laws.
package laws
