package transport

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"time"
)

// Limits of the HTTP server. The gateway limits the bodies. Responses have no time limit: streams may be long.
const (
	readHeaderTimeout = 10 * time.Second
	idleTimeout       = 2 * time.Minute
	maxHeaderBytes    = 64 << 10
)

// NewHTTPServer returns a server for h. A panic of h ends only its request.
func NewHTTPServer(h http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler: recovered(h,
			log), ReadHeaderTimeout: readHeaderTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug), // errors of clients, such as handshakes
	}
}

func recovered(h http.Handler, log *slog.Logger) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			p := recover()
			if p == nil {
				return
			}
			if p != http.ErrAbortHandler { //nolint:errorlint // as net/http does
				log.ErrorContext(r.Context(), "a request panicked", "panic", fmt.Sprint(p), "path", r.URL.Path, "stack",
					string(debug.Stack()))
			}
			panic(http.ErrAbortHandler) // closes the connection, so that the response is not complete
		}()
		h.ServeHTTP(w, r)
	})
}

// SecureHTTP adds TLS to a TCP listener if t is not nil.
func SecureHTTP(l net.Listener, t *TLS) net.Listener {
	if t == nil || l.Addr().Network() != "tcp" {
		return l
	}
	return tls.NewListener(l, t.Config("h2", "http/1.1"))
}

// DrainHTTP is Drain for an HTTP server.
func DrainHTTP(ctx context.Context, s *http.Server) (graceful bool) {
	if err := s.Shutdown(ctx); err != nil {
		_ = s.Close()
		return false
	}
	return true
}
