// Command crdeval-apiserver serves custom resources as a Kubernetes API server does, with crdeval evaluating each
// object.
//
// flags.go has the settings, serve.go starts and stops the server, and certificate.go creates its certificate.
// envtest.go stands in for the programs that envtest starts.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/server/commandline"
	"github.com/crdeval/crdeval/server/settings"
)

// exitError is the exit code for wrong usage and for a server that cannot run.
const exitError = 2

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

const (
	about       = "Serves custom resources as a Kubernetes API server does, without a cluster."
	description = about + `

Environment variables set flags: CRDEVAL_APISERVER_ and the name of the flag in capitals, such as CRDEVAL_APISERVER_DATA_DIR.`
	environmentPrefix = "CRDEVAL_APISERVER_"
)

// newRoot declares crdeval-apiserver.
func newRoot(stdout, stderr io.Writer) *cobra.Command {
	root := commandline.NewRoot("crdeval-apiserver", about, description, version())
	serve, envtest := &serveCommand{}, &envtestCommand{}
	root.AddCommand(
		commandline.Declare(&cobra.Command{
			Use:     "serve",
			Short:   "Run the API server, with its storage and a kubeconfig for kubectl.",
			Example: "  crdeval-apiserver serve\n  kubectl --kubeconfig apiserver-data/kubeconfig apply -f crds/",
		}, environmentPrefix, serve, func(ctx context.Context, set *settings.Set) error {
			return set.Explain(serve.Run(ctx, stderr))
		}),
		commandline.Declare(&cobra.Command{
			Use:     "envtest",
			Short:   "Write a directory for KUBEBUILDER_ASSETS, with which tests that use envtest start this server.",
			Example: "  eval $(crdeval-apiserver envtest .cache/envtest)",
		}, environmentPrefix, envtest, func(context.Context, *settings.Set) error { return envtest.Run(stdout) }),
	)
	return root
}

// version describes the program.
func version() string {
	module := "devel"
	if info, ok := debug.ReadBuildInfo(); ok {
		module = info.Main.Version
	}
	return fmt.Sprintf("crdeval-apiserver %s, Kubernetes %s, %s %s/%s", module, slices.Max(engine.KubernetesVersions()), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// run runs the command of args, and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) (code int) {
	command, err := commandline.Execute(ctx, newRoot(stdout, stderr), args, stdout, stderr)
	if err != nil {
		fmt.Fprintf(stderr, "crdeval-apiserver: %v\n%s", err, commandline.Hint(command, err))
		return exitError
	}
	return 0
}
