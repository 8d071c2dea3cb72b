// Package conversion compares conversions by webhooks: reads, writes, scales, lists and plain conversions of objects
// whose CRD has the strategy Webhook.
//
// Both sides call the same webhook over TLS on the loopback interface (hook.go). Upstream's side is the API server's
// own handlers with its converter; our side is the engine with server/conversion.Client. The webhook converts honestly,
// or as an annotation of the object specifies: it returns a wrong object (objects.go), a wrong review or no review at
// all (reviews.go). Some CRDs have conversion rules: then crdeval is the webhook of upstream's side, and our side calls
// none. Compared are the objects and Status of the answers, and the objects that the webhook received.
package conversion
