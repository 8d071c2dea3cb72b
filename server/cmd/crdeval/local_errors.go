package main

import (
	"context"
	"errors"
	"regexp"
	"strings"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/conversionwebhook"
	"github.com/crdeval/crdeval/server/cmd/crdeval/input"
)

// raiseLimit matches an advice that applies only to Go programs and servers: commands have no flags for limits.
var raiseLimit = regexp.MustCompile(` or raise the \w+ limit$`)

// localError returns an error of the engine for users of a command.
func localError(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return input.ErrInterrupted
	}
	e := (*engine.Error)(nil)
	if !errors.As(err, &e) {
		return err
	}
	shown := *e
	shown.Message = raiseLimit.ReplaceAllString(e.Message, " (the limit of commands is fixed)")
	if c := (*conversionwebhook.Error)(nil); errors.As(err, &c) {
		shown.Message = strings.Replace(shown.Message, c.Preamble, "", 1) // no webhook was called
	}
	return &shown
}
