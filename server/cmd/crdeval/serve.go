package main

import (
	"context"
	"log/slog"
	"os"
	"slices"

	"github.com/alecthomas/kong"

	"github.com/crdeval/crdeval/server/app"
)

type serveCommand struct {
	app.Config
}

// Run serves until SIGTERM or SIGINT.
func (c *serveCommand) Run(ctx context.Context, env environment, command *kong.Context) error {
	options := &slog.HandlerOptions{Level: c.LogLevel}
	var handler slog.Handler = slog.NewTextHandler(env.stderr, options)
	if c.LogFormat == "json" {
		handler = slog.NewJSONHandler(env.stderr, options)
	}
	log := slog.New(handler)
	app.WarnOfEnvironment(ctx, os.Environ(), command.Flags(), log)
	c.warnOfDataDir(ctx, command, log)
	return app.Serve(ctx, c.Config, app.Build{Version: version, Commit: commit()}, log)
}

// warnOfDataDir logs a warning if --data-dir is a flag or in the configuration file, and has no effect. The environment
// of the image contains it for every store.
func (c *serveCommand) warnOfDataDir(ctx context.Context, command *kong.Context, log *slog.Logger) {
	isDataDir := func(p *kong.Path) bool { return p.Flag != nil && p.Flag.Name == "data-dir" }
	if c.Store != app.StoreBolt && slices.ContainsFunc(command.Path, isDataDir) {
		log.WarnContext(ctx, "--data-dir has no effect: it needs --store=bolt", "store", c.Store)
	}
}
