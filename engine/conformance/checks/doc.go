// Package checks compares the registration of CRDs with upstream's, rule by rule: verdicts and texts of whole CRDs, what each rule of the
// corpora compiles to and costs, what each Kubernetes minor takes. It has tests alone.
package checks
