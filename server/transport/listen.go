package transport

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strings"
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
			return nil, err
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
	}
	return l, nil
}

func removeStaleSocket(ctx context.Context, path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("listening on %s%s: %w", unixScheme, path, err)
	}
	if info.Mode()&fs.ModeSocket == 0 {
		return fmt.Errorf("listening on %s%s: the file is not a socket: remove it, or choose another path", unixScheme, path)
	}
	d := net.Dialer{Timeout: time.Second}
	if conn, err := d.DialContext(ctx, "unix", path); err == nil {
		_ = conn.Close()
		return fmt.Errorf("listening on %s%s: another process uses the socket: stop it, or choose another path", unixScheme,
			path)
	}
	if err := os.Remove(path); err != nil {
		return fmt.Errorf("listening on %s%s: removing a stale socket: %w", unixScheme, path, err)
	}
	return nil
}
