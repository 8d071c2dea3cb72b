// Package webhook speaks the wire of Kubernetes' admission webhooks: it reads an AdmissionReview of admission.k8s.io/v1 as a kube-apiserver sends it, has
// the evaluation service judge the object in it, and makes the review that goes back.
//
// It knows nothing of HTTP, of which server/gateway knows all that there is, and nothing of how objects are judged. review.go reads and answers, mutate.go
// and validate.go are the two webhooks, difference.go makes the JSON Patch that turns one object into another, verdict.go says in Kubernetes' terms why a request is denied,
// warnings.go keeps to what an API server passes on.
//
// An answer with allowed: false is about the object, or says that the catalog has nothing to judge it by. What kept the object from being judged is an
// error and no answer: the caller makes an HTTP status of it, and the failurePolicy of the webhook decides.
package webhook
