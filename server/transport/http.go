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

// Bounds of the HTTP server. There is none on how long a request's body or a response takes: streams may be long, and bodies are bounded
// in size and time where they are read.
const (
	readHeaderTimeout = 10 * time.Second
	idleTimeout       = 2 * time.Minute
	maxHeaderBytes    = 64 << 10
)

// NewHTTPServer returns a server for h that logs through log. A panic of h ends its own request alone.
func NewHTTPServer(h http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler: recovered(h, log), ReadHeaderTimeout: readHeaderTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug), // its errors are those of clients: broken handshakes and the like
	}
}

func recovered(h http.Handler, log *slog.Logger) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			p := recover()
			if p == nil {
				return
			}
			if p != http.ErrAbortHandler { //nolint:errorlint // net/http compares so as well
				log.ErrorContext(r.Context(), "a request panicked", "panic", fmt.Sprint(p), "path", r.URL.Path, "stack", string(debug.Stack()))
			}
			panic(http.ErrAbortHandler) // the connection is closed: whatever was written is not taken for whole
		}()
		h.ServeHTTP(w, r)
	})
}

// SecureHTTP makes a TCP listener speak TLS, if t is not nil. Unix sockets stay as they are.
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
