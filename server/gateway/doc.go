// Package gateway is the REST API of the service: JSON and YAML over HTTP on the handlers of the gRPC services.
//
// grpc-gateway routes requests, reads path and query parameters, and calls the services through a grpc.ClientConnInterface, in the server the one of
// package inprocess. This package has the codec that keeps documents inline (marshaler.go), reads bodies before the call (body.go, bodies.go), and
// writes errors. It serves some calls itself: streams of items (stream.go), watches (watch.go), and admission webhooks (admission.go).
package gateway
