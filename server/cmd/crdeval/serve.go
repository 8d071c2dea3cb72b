package main

import (
	"context"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"github.com/crdeval/crdeval/server/app"
	"github.com/crdeval/crdeval/server/settings"
)

type serveCommand struct {
	app.Config

	set *settings.Set
}

// newServe declares crdeval serve.
func newServe(i *invocation) *cobra.Command {
	return i.declare(&cobra.Command{
		Use: "serve", GroupID: groupServe,
		Short: "Run the service: gRPC, REST, health and metrics.",
		Example: `  crdeval serve --store memory --crds crds/
  crdeval serve --config crdeval.yaml`,
	}, &serveCommand{})
}

// Load implements commandline.Loader.
func (c *serveCommand) Load(set *settings.Set) error {
	c.set = set
	return c.Config.Load(set)
}

// Run serves until SIGTERM or SIGINT.
func (c *serveCommand) Run(ctx context.Context, env environment) error {
	options := &slog.HandlerOptions{Level: c.LogLevel}
	var handler slog.Handler = slog.NewTextHandler(env.stderr, options)
	if c.LogFormat == "json" {
		handler = slog.NewJSONHandler(env.stderr, options)
	}
	log := slog.New(handler)
	app.WarnOfEnvironment(ctx, os.Environ(), c.set, log)
	c.warnOfDataDir(ctx, log)
	return app.Serve(ctx, c.Config, app.Build{Version: version, Commit: commit()}, log)
}

// warnOfDataDir logs a warning if --data-dir is a flag or in the configuration file, and has no effect. The environment
// of the image contains it for every store.
func (c *serveCommand) warnOfDataDir(ctx context.Context, log *slog.Logger) {
	if dir := c.set.Lookup("data-dir"); c.Store != app.StoreBolt && (dir.IsFlag() || dir.IsInFile()) {
		log.WarnContext(ctx, "--data-dir has no effect: it needs --store=bolt", "store", c.Store)
	}
}
