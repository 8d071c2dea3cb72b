package engine

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/crdeval/crdeval/engine/conversionwebhook"
	"github.com/crdeval/crdeval/engine/host"
)

// panicsOnCall panics in every callback that Options have.
type panicsOnCall struct{}

func (panicsOnCall) Convert(context.Context, conversionwebhook.Request) ([][]byte, error) {
	panic("injected")
}
func (panicsOnCall) Compiled(context.Context, host.CompileEvent)     { panic("injected") }
func (panicsOnCall) Evaluated(context.Context, host.EvaluationEvent) { panic("injected") }

func injected(string) *Existing { panic("injected") }

// Every function that returns an error returns INTERNAL, with the panic and its stack as the cause, instead of
// panicking.
func TestPanicsAreErrors(t *testing.T) {
	ctx := context.Background()
	manifest, object := JSON([]byte(cronTabCRD)), JSON([]byte(`{"apiVersion":"stable.example.com/v1","kind":"CronTab","metadata":{"name":"a","namespace":"b"}}`))
	good := mustCompile(t, cronTabCRD)
	observed := *good
	observed.observer = panicsOnCall{}
	item := Create{Object: object}
	for name, call := range map[string]func() error{
		"Check":         func() error { _, err := Check(ctx, manifest, Options{Existing: injected}); return err },
		"Compile":       func() error { _, _, err := Compile(ctx, manifest, Options{Existing: injected}); return err },
		"Compile, plan": func() error { _, _, err := Compile(ctx, manifest, Options{Observer: panicsOnCall{}}); return err },
		"CompileStored": func() error {
			_, err := compileStored(ctx, good.Manifest(), Options{Observer: panicsOnCall{}})
			return err
		},
		"Validate": func() error { _, err := observed.Validate(ctx, item, ValidateOptions{}); return err },
		"Admit":    func() error { _, err := observed.Admit(ctx, item, AdmitOptions{}); return err },
		"Prune":    func() error { _, err := observed.Prune(ctx, object, TransformOptions{}); return err },
		"Default":  func() error { _, err := observed.Default(ctx, object, TransformOptions{}); return err },
		"Read":     func() error { _, err := observed.Read(ctx, object, ReadOptions{}); return err },
		"Convert": func() error {
			_, err := observed.Convert(ctx, object, "v1", TransformOptions{})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			err := call()
			var e *Error
			var cause *host.PanicError
			if !errors.As(err, &e) {
				t.Fatalf("no *Error: %v", err)
			}
			if e.Reason != ReasonInternal || !errors.As(err, &cause) || !strings.Contains(string(cause.Stack), "panic_test.go") {
				t.Errorf("%s, %v", e.Reason, err)
			}
		})
	}
}

// TestRecoverAgain checks that a panic that is raised again keeps the stack of its goroutine.
func TestRecoverAgain(t *testing.T) {
	call := func(f func() error) (err error) {
		defer host.Recover(&err)
		return f()
	}
	ended := make(chan error)
	go func() { ended <- call(injectedBelow) }()
	cause, _ := errors.AsType[*host.PanicError](<-ended)
	err := call(func() error { panic(cause) })
	if again, is := errors.AsType[*host.PanicError](err); !is || again != cause || !strings.Contains(string(again.Stack), "injectedBelow") {
		t.Errorf("got %v", err)
	}
	if err := call(func() error { return nil }); err != nil {
		t.Errorf("without a panic: %v", err)
	}
}

func injectedBelow() error { panic("injected") }
