// Package laws tests conversions between two versions on generated objects. The laws are what users of a CRD rely on:
//
//   - round trip: converting an object to another version and back changes nothing but what is lost by design.
//   - edit: a change made in the other version is kept, and what an annotation keeps never overrides it.
//   - locality: the conversion of a part of an object is a part of its conversion. Server-side apply converts parts.
//   - metadata: labels, annotations and all other metadata stay as they are, except for the annotations of conversions.
//   - validity: an object that is valid becomes an object that is valid.
//   - size: the annotations stay below the limit of Kubernetes.
//   - determinism: equal objects become equal objects.
//   - status: the round trip of the status.
//
// An object that breaks a law is shrunk. run.go generates the objects, the other files check one law or two each.
package laws
