// Package crdevalv1 has the messages and services of the API crdeval.v1. `make generate` generates them from the .proto
// files in this folder. They also describe the API: start with the services in evaluation.proto and registry.proto.
package crdevalv1
