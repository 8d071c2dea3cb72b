// Command crdeval is the service, and what of it works without one: `crdeval --help` lists the commands.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/crdeval/crdeval/server/app"
)

// Exit codes. A refusal is an answer, an error is none.
const (
	exitRefused = 1 // check: an API server would refuse a CRD; diff: changes of the class that --fail-on names; healthcheck: not serving
	exitError   = 2 // bad usage, unreadable input, a server that failed
)

// cli are the commands.
type cli struct {
	Serve       serveCommand       `cmd:"" help:"Run the service: gRPC, REST, health and metrics."`
	Check       checkCommand       `cmd:"" help:"Say what an API server would say to CRDs in files. Exits with 1 if it would refuse one."`
	Admit       admitCommand       `cmd:"" help:"Say what an API server would answer to the writes of objects in files. Exits with 1 if it would refuse one."`
	Diff        diffCommand        `cmd:"" help:"Say what changes between two CRDs, for stored objects and for clients. Exits with 1 if it is breaking."`
	Discover    discoverCommand    `cmd:"" help:"List the resources of CRDs in files as kubectl api-resources does."`
	OpenAPI     openapiCommand     `cmd:"" name:"openapi" help:"Print the OpenAPI document that an API server publishes about CRDs in files."`
	Explain     explainCommand     `cmd:"" help:"Explain a resource of CRDs in files, or a field of it, as kubectl explain does."`
	Healthcheck healthcheckCommand `cmd:"" help:"Ask a running service whether it serves. Exits with 1 if not."`
	Version     versionCommand     `cmd:"" help:"Print the version."`
}

// environment is what a command has of the world.
type environment struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	// recursive: directories are given with those in them.
	recursive bool
	// interrupted is closed when the command is to end, nil for never.
	interrupted <-chan struct{}
}

// errRefused ends a command that has printed why already.
var errRefused = errors.New("refused")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal does not wait for the drain
	code := run(ctx, os.Args[1:], environment{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, interrupted: ctx.Done()})
	stop()
	os.Exit(code)
}

// exited is how kong's own exits (--help) leave a parse.
type exited int

func run(ctx context.Context, args []string, env environment) (code int) {
	defer func() {
		if p := recover(); p != nil {
			e, ok := p.(exited)
			if !ok {
				panic(p)
			}
			code = int(e)
		}
	}()
	var commands cli
	tolerant, unreadable := app.Tolerant()
	parser, err := kong.New(&commands, append(append(app.KongOptions(), tolerant...),
		kong.Name("crdeval"),
		kong.Description("Answers what a Kubernetes API server would answer about CustomResourceDefinitions and their objects."),
		kong.Writers(env.stdout, env.stderr),
		kong.Exit(func(code int) { panic(exited(code)) }),
		kong.UsageOnError(),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.Bind(env),
	)...)
	if err != nil {
		fmt.Fprintln(env.stderr, "crdeval:", err)
		return exitError
	}
	command, err := parser.Parse(args)
	if err = errors.Join(unreadable(), err); err == nil {
		err = command.Run()
	}
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errRefused):
		return exitRefused
	}
	fmt.Fprintf(env.stderr, "crdeval: %s\n", printable([]byte(err.Error())))
	return exitError
}

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
