package app

import (
	"context"
	"net"
	"os"
)

// The states of a service for systemd (sd_notify).
const (
	stateReady    = "READY=1"
	stateStopping = "STOPPING=1"
)

// notify reports a state to systemd if NOTIFY_SOCKET is set, as for units with Type=notify. Errors are logged only: systemd
// treats a missing report as a failure.
func (a *App) notify(ctx context.Context, state string) {
	socket := os.Getenv("NOTIFY_SOCKET")
	if socket == "" {
		return
	}
	conn, err := new(net.Dialer).DialContext(ctx, "unixgram", socket) // a name with @ is abstract, as in systemd
	if err == nil {
		defer func() { _ = conn.Close() }()
		_, err = conn.Write([]byte(state))
	}
	if err != nil {
		a.log.WarnContext(ctx, "reporting to systemd failed", "state", state, "error", err)
	}
}
