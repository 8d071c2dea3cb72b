package app

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"

	"github.com/crdeval/crdeval/server/transport"
)

// startPprof serves the profiles of Go at --pprof-address. A running profile ends when draining starts.
func (a *App) startPprof(ctx context.Context) error {
	if a.config.PprofAddress == "" {
		return nil
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	if err := a.addWeb(ctx, transport.IgnoreBodies(mux), []string{a.config.PprofAddress}, nil); err != nil {
		return err
	}
	a.web[len(a.web)-1].server.BaseContext = func(net.Listener) context.Context { return a.draining }
	return nil
}

// checkLocal returns an error unless only processes of this host can connect to an address.
func checkLocal(address string) error {
	network, target, err := transport.ParseAddress(address)
	if err == nil && network == "tcp" && !loopback(target) {
		err = fmt.Errorf("address %q is not local: profiles are served without authentication, so use localhost:port, a loopback address or unix:///path", address)
	}
	return err
}
