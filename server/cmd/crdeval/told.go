package main

import (
	"errors"
	"strconv"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// told words the error of a call to the service at an address; about is what the call was about, if that says more. What the service itself says
// has details and stands as it is; what gRPC says of connections is put plainly.
func told(address, about string, err error) error {
	s, is := status.FromError(err)
	if !is {
		return errors.New(joined(address, about, err.Error()))
	}
	message := s.Message()
	if len(s.Details()) > 0 {
		return errors.New(joined(address, about, message))
	}
	switch {
	case strings.Contains(message, "frame too large"), strings.Contains(message, "error reading server preface"):
		return errors.New(joined(address, "does not speak gRPC", "give the address of the service's gRPC listener, by default port 9090, and for TLS --tls-ca"))
	case strings.Contains(message, "too many colons"):
		return errors.New(joined(address, "is no address of a gRPC listener", "give HOST:PORT or unix:///PATH"))
	}
	late, failed := strings.CutPrefix(message, "latest balancer error: ")
	switch waits := strings.Contains(message, "waiting for connections to become ready"); {
	case s.Code() == codes.Unavailable, s.Code() == codes.DeadlineExceeded && failed:
		return errors.New(joined(address, "cannot be reached", cause(late)))
	case s.Code() == codes.DeadlineExceeded && waits:
		return errors.New(joined(address, "cannot be reached", "there was no connection in time"))
	case s.Code() == codes.DeadlineExceeded:
		return errors.New(joined(address, about, "there was no answer in time"))
	case s.Code() == codes.Canceled:
		return errors.New(joined(address, about, "interrupted"))
	case message == "":
		message = s.Code().String()
	}
	return errors.New(joined(address, about, message))
}

// cause is what the system said to a connection, out of gRPC's words.
func cause(message string) string {
	if _, quoted, found := strings.Cut(message, "desc = "); found {
		if prefix, err := strconv.QuotedPrefix(quoted); err == nil {
			message, _ = strconv.Unquote(prefix)
		}
	}
	for _, prefix := range []string{"transport: ", "Error while dialing: ", "name resolver error: "} {
		message = strings.TrimPrefix(message, prefix)
	}
	if message == "produced zero addresses" {
		return "the host's name has no address"
	}
	return message
}

// joined are parts of a line, without those that are empty.
func joined(parts ...string) string {
	var some []string
	for _, part := range parts {
		if part != "" {
			some = append(some, part)
		}
	}
	return strings.Join(some, ": ")
}
