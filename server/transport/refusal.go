package transport

import (
	"strings"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// errorDomain is the domain of the service's google.rpc.ErrorInfo.
const errorDomain = "crdeval.dev"

// refusal is a status with its reason, a name of crdeval.v1.ErrorReason without the prefix.
func refusal(code codes.Code, reason, message string, metadata map[string]string) error {
	s := status.New(code, message)
	if detailed, err := s.WithDetails(&errdetails.ErrorInfo{Domain: errorDomain, Reason: reason, Metadata: metadata}); err == nil {
		s = detailed
	}
	return s.Err()
}

// isProbe says whether a call is an orchestrator's, which needs neither identity nor a place among those in flight: a server that
// is busy is not dead.
func isProbe(method string) bool { return strings.HasPrefix(method, "/grpc.health.v1.Health/") }
