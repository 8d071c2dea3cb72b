// Package gateway is the REST face of the service: JSON over HTTP in front of our own gRPC server.
//
// It knows how messages are spelled in JSON, how documents stay what the caller sent, and how errors look over HTTP. It knows
// nothing of CRDs: every call goes through a client connection to the gRPC server, so that each interceptor there runs for
// REST as well and the caller's identity is passed on.
//
// The messages are read and written by a walk of our own (plan.go, decode.go, encode.go) and not by protojson, which would
// want a Document in base64 and is too slow for batches: a Document is the JSON value itself, taken from the body as a slice
// and written back as it is. marshaler.go fits the walk to grpc-gateway, request.go reads bodies, routes.go decides which
// paths and methods exist, errors.go turns statuses into responses, gateway.go puts it all together. Two calls are not only what their
// messages say: watch.go writes a stream as lines, manifests.go takes a body of manifests for the request that registers them.
package gateway
