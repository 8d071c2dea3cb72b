// Package transport is how calls reach the service: listeners (TCP, unix sockets), TLS whose files may be rotated under
// a running server, the gRPC server with the interceptors that every call passes, and the HTTP server.
//
// It knows nothing of CRDs, and nothing of what the calls mean. The order of the interceptors, outermost first: telemetry, log,
// recovery, authentication, admission. A panic is therefore logged and counted as the error that it becomes, and a call without
// identity costs no place among those in flight.
package transport
