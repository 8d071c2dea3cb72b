package main

import (
	"cmp"
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/crdeval/crdeval/engine"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/cmd/crdeval/message"
)

// fail returns the error of a call to the service, nil for nil. about says what the call was about, if that says more.
func (s *service) fail(about string, err error) error {
	if err == nil {
		return nil
	}
	return callError(s.address, about, err)
}

// callError describes the error of a call to the service at an address. Messages of the service stay as they are.
// Messages of gRPC about connections are replaced.
func callError(address, about string, err error) error {
	s := statusOf(err)
	if s == nil {
		return joined(address, about, strings.TrimPrefix(err.Error(), "crdeval: ")) // of the client
	}
	message := s.Message()
	if s.Code() == codes.Unauthenticated {
		return joined(address, about, message+" (use --token or CRDEVAL_TOKEN)")
	}
	if len(s.Details()) > 0 {
		return joined(address, about, message)
	}
	late, dialed := strings.CutPrefix(message, "latest balancer error: ")
	waited := strings.Contains(message, "waiting for connections to become ready")
	switch code := s.Code(); {
	case strings.Contains(message, "frame too large"), strings.Contains(message, "error reading server preface"):
		return joined(address, "the server does not speak gRPC",
			"use the address of the gRPC listener (default port 9090), and --tls or --tls-ca for TLS")
	case strings.Contains(message, "too many colons"):
		return joined(address, "the address is invalid", "use HOST:PORT or unix:///PATH")
	case code == codes.Unavailable, code == codes.DeadlineExceeded && dialed:
		return joined(address, "cannot connect", connectionError(late))
	case code == codes.DeadlineExceeded && waited:
		return joined(address, "cannot connect", "timeout")
	case code == codes.DeadlineExceeded:
		return joined(address, about, "timeout")
	case code == codes.Canceled:
		return joined(address, about, "interrupted")
	}
	return joined(address, about, cmp.Or(message, s.Code().String()))
}

// statusOf returns the gRPC status in the chain of an error, without the texts of the chain, or nil.
func statusOf(err error) *status.Status {
	var failed interface{ GRPCStatus() *status.Status }
	if !errors.As(err, &failed) {
		return nil
	}
	return failed.GRPCStatus()
}

// dialError matches an error of gRPC about a connection. Its group has the error of the operating system.
var dialError = regexp.MustCompile(`desc = "(?:transport: )?(?:Error while dialing: )?(.*)"`)

// connectionError extracts the error of the operating system from a message of gRPC.
func connectionError(message string) string {
	if m := dialError.FindStringSubmatch(message); m != nil {
		if text, err := strconv.Unquote(`"` + m[1] + `"`); err == nil {
			message = text
		}
	}
	if message == "name resolver error: produced zero addresses" {
		return "the host name has no address"
	}
	return message
}

// joined returns an error of the parts that are not empty.
func joined(parts ...string) error {
	parts = slices.DeleteFunc(parts, func(part string) bool { return part == "" })
	return errors.New(strings.Join(parts, ": "))
}

// manifestError returns the error of a call about a manifest. If the service has reported a reason, it is an
// *engine.Error, with the position in the manifest if that is known.
func (s *service) manifestError(err error) error {
	st := statusOf(err)
	if st == nil || st.Code() == codes.Unauthenticated {
		return s.fail("", err)
	}
	for _, d := range st.Details() {
		if info, ok := d.(*errdetails.ErrorInfo); ok {
			e := &engine.Error{Reason: engine.Reason(info.GetReason()), Message: st.Message()}
			line, _ := strconv.Atoi(info.GetMetadata()["line"])
			column, _ := strconv.Atoi(info.GetMetadata()["column"])
			if line > 0 {
				e.Position = &engine.Position{Line: line, Column: column}
			}
			e.Violations = violationsIn(st)
			return e
		}
	}
	return s.fail("", err)
}

// violationsIn returns the violations of a document that cannot be read.
func violationsIn(st *status.Status) (all []engine.Violation) {
	for _, d := range st.Details() {
		list, _ := d.(*crdevalv1.ViolationList)
		all = append(all, message.Violations(list.GetViolations())...)
	}
	return all
}
