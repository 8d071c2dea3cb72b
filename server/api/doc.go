// Package api has the gRPC handlers of crdeval.v1.
//
// Handlers check requests against the published limits, call the registry and the engine, and convert results to messages. They
// store nothing. Handlers return plain errors; errors.go converts them to statuses. batch.go evaluates the items of a call in
// parallel, and the stream files do so for streams.
package api
