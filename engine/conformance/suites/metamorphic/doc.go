// Package metamorphic runs random histories of operations through two configurations of crdeval's service, and compares
// what a client observes.
//
// The first configuration is the reference: a store in memory, calls in the process, JSON, one call for each operation,
// registered CRDs, a large cache, and no restarts. The second configuration differs from it in some of these respects
// (configuration.go). None of them changes what a client observes, so the observations must be equal. Tokens and etags
// are opaque: their order of appearance is compared, not their text.
//
//	history.go, generate.go     operations, and how they are generated
//	configuration.go, store.go  the configurations and their stores
//	server.go, rest.go          a server that clients reach in the process, over gRPC, or over REST
//	calls.go, responses.go      the messages of the API
//	play.go, watch.go           a run of a history, which yields observations
//	observe.go                  observations, without what may differ
//	suite.go, file.go           the suite; failures as files that can be replayed
package metamorphic
