package main

import (
	"context"
	"log/slog"
	"os"

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
	return app.Serve(ctx, c.Config, app.Build{Version: version, Commit: commit()}, log)
}
