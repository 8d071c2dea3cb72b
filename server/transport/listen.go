package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"time"
)

// unixScheme is the prefix of the address of a unix socket, as in gRPC.
const unixScheme = "unix://"

// SocketMode is the mode of unix sockets: the owner and its group may connect.
const SocketMode fs.FileMode = 0o660

// ParseAddress returns the arguments of net.Listen for host:port, :port, or unix:///path.
func ParseAddress(address string) (network, target string, err error) {
	if path, ok := strings.CutPrefix(address, unixScheme); ok {
		if !strings.HasPrefix(path, "/") {
			return "", "", fmt.Errorf("address %q: the path of a unix socket must be absolute, as in unix:///run/crdeval.sock",
				address)
		}
		return "unix", path, nil
	}
	if _, _, err := net.SplitHostPort(address); err != nil {
		return "", "", fmt.Errorf("address %q is neither host:port nor unix:///path: %w", address, err)
	}
	return "tcp", address, nil
}

// Listen listens on an address for ParseAddress. It replaces the socket of a dead process. Closing the listener removes
// the socket.
func Listen(ctx context.Context, address string) (net.Listener, error) {
	network, target, err := ParseAddress(address)
	if err != nil {
		return nil, err
	}
	if network == "unix" {
		if err := removeStaleSocket(ctx, target); err != nil {
			return nil, fmt.Errorf("listening on %s: %w", address, err)
		}
	}
	l, err := new(net.ListenConfig).Listen(ctx, network, target)
	if err != nil {
		return nil, fmt.Errorf("listening on %s: %w", address, err)
	}
	if network == "unix" {
		if err := os.Chmod(target, SocketMode); err != nil {
			return nil, errors.Join(fmt.Errorf("listening on %s: %w", address, err), l.Close())
		}
		l = unixListener{l}
	}
	return l, nil
}

// unixListener numbers the connections of a unix socket. Limits per caller need a name for each connection, and clients
// of unix sockets have no addresses.
type unixListener struct{ net.Listener }

// connections is the number of connections over unix sockets so far.
var connections atomic.Uint64

// Accept implements net.Listener.
func (l unixListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return unixConn{conn, &net.UnixAddr{Net: "unix", Name: fmt.Sprintf("unix:%d", connections.Add(1))}}, nil
}

// unixConn is a connection over a unix socket.
type unixConn struct {
	net.Conn
	remote net.Addr
}

// RemoteAddr implements net.Conn.
func (c unixConn) RemoteAddr() net.Addr { return c.remote }

func removeStaleSocket(ctx context.Context, path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode()&fs.ModeSocket == 0 {
		return errors.New("the file is not a socket: remove it, or choose another path")
	}
	d := net.Dialer{Timeout: time.Second}
	if conn, err := d.DialContext(ctx, "unix", path); err == nil {
		_ = conn.Close()
		return errors.New("another process uses the socket: stop it, or choose another path")
	}
	if err := os.Remove(path); err != nil {
		return fmt.Errorf("removing a stale socket: %w", err)
	}
	return nil
}

// Limits of the HTTP server. The gateway limits the bodies. Responses have no time limit: streams may be long.
const (
	readHeaderTimeout = 10 * time.Second
	idleTimeout       = 2 * time.Minute
	maxHeaderBytes    = 64 << 10
)

// NewHTTPServer returns a server for h. A panic of h ends only its request.
func NewHTTPServer(h http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler: recovered(h, log), ReadHeaderTimeout: readHeaderTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: maxHeaderBytes, ConnState: followState,
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
				log.ErrorContext(r.Context(), "a request panicked", "panic", fmt.Sprint(p), "path", r.URL.Path, "stack", stackOf(p))
			}
			panic(http.ErrAbortHandler) // closes the connection, so that the response is not complete
		}()
		h.ServeHTTP(w, r)
	})
}

// DiscardPatience is how long the rest of a body that a handler does not read is read and discarded.
const DiscardPatience = 5 * time.Second

// IgnoreBody prepares the response to a request whose handler does not read the body. net/http would wait for the body
// before it sends the response.
func IgnoreBody(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength != 0 && r.ProtoMajor == 1 { // HTTP/2 tells clients itself to stop sending
		w.Header().Set("Connection", "close")
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(DiscardPatience)) // not every writer has deadlines
	}
}

// IgnoreBodies calls IgnoreBody for each request to h.
func IgnoreBodies(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		IgnoreBody(w, r)
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
