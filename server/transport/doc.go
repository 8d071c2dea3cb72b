// Package transport receives calls: listeners (TCP, unix sockets), TLS with files that may be rotated, the gRPC server
// with its interceptors, and the HTTP server. It does not know the API.
//
// The order of the interceptors, outermost first: telemetry, access log, recovery, gate. So a panic is logged and counted
// as an error, and a call without a valid token uses no slot.
package transport
