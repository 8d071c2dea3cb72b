package transport

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"

	"github.com/crdeval/crdeval/engine/host"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

const (
	// maxAuxiliaryPerConnection bounds the auxiliary streams of a connection. A client has one of each kind, or two.
	maxAuxiliaryPerConnection = 10
	// reflectionIdle is how long a reflection stream waits for a request. Clients use it for seconds.
	reflectionIdle = time.Minute
)

// auxiliary bounds the auxiliary streams: health watches and server reflection. They use no slot of the limiter.
type auxiliary struct {
	max      int64 // of all connections; 0: unlimited
	open     atomic.Int64
	rejected func(reason string)
}

// isReflection reports whether a method is server reflection.
func isReflection(method string) bool { return strings.HasPrefix(method, "/grpc.reflection.") }

func (a *auxiliary) stream(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	reflection := isReflection(info.FullMethod)
	if !reflection && !isProbe(info.FullMethod) {
		return handler(srv, ss)
	}
	defer a.open.Add(-1)
	if n := a.open.Add(1); a.max > 0 && n > a.max {
		return a.reject("max_auxiliary_streams", a.max, "of all connections is reached: end some, retry later, or raise --memory")
	}
	if c := connOf(ss.Context()); c != nil {
		defer c.auxiliary.Add(-1)
		if c.auxiliary.Add(1) > maxAuxiliaryPerConnection {
			return a.reject("max_auxiliary_streams_per_connection", maxAuxiliaryPerConnection,
				"of a connection is reached: end one before you open another")
		}
	}
	if reflection {
		ss = &reflectionStream{ss}
	}
	return handler(srv, ss)
}

func (a *auxiliary) reject(limit string, maximum int64, what string) error {
	a.rejected(RejectedAuxiliary)
	return overloaded(fmt.Sprintf("the limit of %d health watches and reflection streams %s", maximum, what), 0,
		map[string]string{"limit": limit, "maximum": strconv.FormatInt(maximum, 10)})
}

// reflectionStream is a stream that ends if no message arrives for reflectionIdle.
type reflectionStream struct{ grpc.ServerStream }

// RecvMsg implements grpc.ServerStream. The handler returns its error, which ends the stream and the goroutine. A panic of
// the goroutine is raised again.
func (s *reflectionStream) RecvMsg(m any) error {
	received := make(chan error, 1)
	go func() { received <- s.receive(m) }()
	idle := time.NewTimer(reflectionIdle)
	defer idle.Stop()
	select {
	case err := <-received:
		if p, is := errors.AsType[*host.PanicError](err); is {
			panic(p)
		}
		return err
	case <-idle.C:
		return statusError(crdevalv1.ErrorReason_ERROR_REASON_DEADLINE, fmt.Sprintf(
			"the reflection stream had no request for %v: open a new stream for the next request", reflectionIdle), nil)
	}
}

// receive receives a message.
func (s *reflectionStream) receive(m any) (err error) {
	defer host.Recover(&err)
	return s.ServerStream.RecvMsg(m)
}
