// Package webhook implements the admission webhooks: it reads an AdmissionReview of admission.k8s.io/v1, has the evaluation
// service evaluate the object in it, and makes the review that goes back. server/gateway serves it over HTTP.
//
// review.go reads and answers, mutate.go and validate.go are the two webhooks, difference.go makes the JSON Patch, verdict.go
// states a rejection in the terms of Kubernetes, warnings.go bounds warnings as an API server does.
//
// An answer with allowed: false is about the object, or says that the catalog has no CRD for it. If the object could not be
// evaluated the result is an error: the caller makes an HTTP status of it, and the failurePolicy of the webhook decides.
package webhook
