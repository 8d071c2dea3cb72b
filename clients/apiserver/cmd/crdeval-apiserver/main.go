// Command crdeval-apiserver serves custom resources as a Kubernetes API server does, with crdeval evaluating each
// object.
//
// flags.go has the settings, serve.go starts and stops the server, and certificate.go creates its certificate.
// envtest.go stands in for the programs that envtest starts.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/alecthomas/kong"
)

// exitError is the exit code for wrong usage and for a server that cannot run.
const exitError = 2

type cli struct {
	Serve   serveCommand   `cmd:"" help:"Run the API server, with its storage and a kubeconfig for kubectl."`
	Envtest envtestCommand `cmd:"" help:"Write a directory for KUBEBUILDER_ASSETS, with which tests that use envtest start this server."`
}

func main() {
	ctx, stop := withSignals()
	code, ok := runAs(ctx, filepath.Base(os.Args[0]), os.Args[1:], os.Stderr)
	if !ok {
		code = run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	}
	stop()
	os.Exit(code)
}

// withSignals returns a context that the first SIGINT or SIGTERM ends. A second signal ends the process at once.
func withSignals() (ctx context.Context, stop context.CancelFunc) {
	ctx, stop = signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

// exited carries the exit code of kong, as after --help, out of the parser.
type exited int

func run(ctx context.Context, args []string, stdout, stderr io.Writer) (code int) {
	defer func() {
		if p := recover(); p != nil {
			e, ok := p.(exited)
			if !ok {
				panic(p)
			}
			code = int(e)
		}
	}()
	parser, err := kong.New(&cli{},
		kong.Name("crdeval-apiserver"),
		kong.Description("Serves custom resources as a Kubernetes API server does, without a cluster."),
		kong.DefaultEnvars("CRDEVAL_APISERVER"),
		kong.Writers(stdout, stderr),
		kong.Exit(func(code int) { panic(exited(code)) }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.BindTo(stderr, (*io.Writer)(nil)),
		kong.Bind(printer{stdout}),
	)
	if err != nil {
		fmt.Fprintln(stderr, "crdeval-apiserver:", err)
		return exitError
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	command, err := parser.Parse(args)
	if err != nil {
		usage := "crdeval-apiserver"
		var e *kong.ParseError
		if errors.As(err, &e) && e.Context.Command() != "" {
			usage += " " + e.Context.Command()
		}
		fmt.Fprintf(stderr, "crdeval-apiserver: %v\nRun \"%s --help\" for usage.\n", err, usage)
		return exitError
	}
	if err := command.Run(); err != nil {
		fmt.Fprintln(stderr, "crdeval-apiserver:", err)
		return exitError
	}
	return 0
}
