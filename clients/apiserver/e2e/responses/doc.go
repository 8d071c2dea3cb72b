// Package responses compares the responses of crdeval-apiserver with those of upstream's API server, request by
// request. The requests are in testdata.
package responses
