package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os/exec"
	"runtime"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/crdeval/crdeval/server/editor/playground"
	"github.com/crdeval/crdeval/server/transport"
)

type playgroundCommand struct {
	Address string `default:"127.0.0.1:8088" help:"Address of the page: host:port. The port 0 selects a free port. Anyone who can reach the address can use the playground."`
	Open    bool   `help:"Open the page in the default browser."`
}

// newPlayground declares crdeval playground.
func newPlayground(i *invocation) *cobra.Command {
	return i.declare(&cobra.Command{
		Use: "playground", GroupID: groupServe,
		Short: "Serve a page that evaluates CRDs and objects while you type.",
		Long: `Serves a web page that evaluates a CRD and an object while you type, as an API server does. It stores nothing. The command runs until SIGTERM or SIGINT.

Exit code 0: stopped by a signal. Exit code 2: the address cannot be used, or the binary was built without the page.`,
		Example: `  crdeval playground --open`,
	}, &playgroundCommand{})
}

// Validate rejects addresses that a browser cannot open.
func (c *playgroundCommand) Validate() error {
	if network, _, err := transport.ParseAddress(c.Address); err != nil || network != "tcp" {
		return fmt.Errorf("--address: %q is not host:port: browsers cannot open other addresses", c.Address)
	}
	return nil
}

const (
	// playgroundShutdown bounds the time for evaluations in progress after a signal.
	playgroundShutdown = 6 * time.Second
	// playgroundRead bounds the time to receive a request with its body.
	playgroundRead = 30 * time.Second
)

// Run serves the page until the command is interrupted.
func (c *playgroundCommand) Run(ctx context.Context, env environment) error {
	p, err := playground.New()
	if err != nil {
		return err
	}
	return c.serve(ctx, env, p, playgroundRead)
}

// serve serves the page. read bounds the time to receive a request.
func (c *playgroundCommand) serve(ctx context.Context, env environment, p *playground.Playground, read time.Duration) error {
	listener, err := transport.Listen(ctx, c.Address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("%w: select another port with --address; port 0 selects a free one", err)
	}
	if err != nil {
		return err
	}
	url := "http://" + listener.Addr().String() + "/"
	server := transport.NewHTTPServer(sameOrigin(p.Handler(), listener.Addr()),
		slog.New(slog.NewTextHandler(env.stderr, nil)))
	server.ReadTimeout, server.ReadHeaderTimeout = read, min(server.ReadHeaderTimeout, read)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	fmt.Fprintf(env.stdout, "The playground is at %s\n", url)
	if c.Open {
		if err := openBrowser(ctx, url); err != nil {
			fmt.Fprintf(env.stderr, "crdeval: the browser cannot be opened: %v. Open %s in a browser\n", err, url)
		}
	}
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), playgroundShutdown)
	defer cancel()
	if err := server.Shutdown(stopping); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return server.Close()
}

// sameOrigin rejects requests of pages of other sites. At a loopback address, it also checks Host, because a site can
// resolve its own name to it.
func sameOrigin(h http.Handler, address net.Addr) http.Handler {
	var sites transport.CrossSite
	if tcp, ok := address.(*net.TCPAddr); ok && tcp.IP.IsLoopback() {
		sites.Hosts = []string{"localhost"}
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := sites.Check(r); err != nil {
			http.Error(w, "open http://"+address.String()+"/: "+err.Error(), http.StatusForbidden)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// openBrowser opens a URL in the default browser.
func openBrowser(ctx context.Context, url string) error {
	command := []string{"xdg-open"}
	switch runtime.GOOS {
	case "darwin":
		command = []string{"open"}
	case "windows":
		command = []string{"rundll32", "url.dll,FileProtocolHandler"}
	}
	return exec.CommandContext(ctx, command[0], append(command[1:], url)...).Start()
}
