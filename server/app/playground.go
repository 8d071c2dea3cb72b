package app

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/crdeval/crdeval/engine/host"
	"github.com/crdeval/crdeval/server/api"
	"github.com/crdeval/crdeval/server/call"
	"github.com/crdeval/crdeval/server/editor/playground"
	"github.com/crdeval/crdeval/server/gateway"
)

// playgroundPath is the path of the playground, and playgroundPage that of its page. The URLs in the page are relative,
// so users see playgroundPath with a slash.
const playgroundPath, playgroundPage = "/playground", "/playground/index.html"

// openPlayground is a variable for tests, which must not depend on the page that npm builds.
var openPlayground = playground.New

// addPlayground adds the files of the playground to pages, and returns its calls. It does nothing unless --playground
// is set.
func (a *App) addPlayground(pages map[string]http.Handler) (map[string]gateway.Call, error) {
	if !a.config.Playground {
		return nil, nil
	}
	p, err := openPlayground()
	if err != nil {
		return nil, fmt.Errorf("--playground: %w", err)
	}
	for name, page := range p.Pages() {
		if name != "" {
			pages[playgroundPath+"/"+name] = page
		}
	}
	pages[playgroundPath] = http.RedirectHandler(playgroundPath+"/", http.StatusFound)
	calls := map[string]gateway.Call{}
	for name, evaluate := range p.Calls() {
		calls[playgroundPath+"/"+name] = func(ctx context.Context, body []byte) ([]byte, error) {
			return a.evaluateInput(ctx, evaluate, body)
		}
	}
	return calls, nil
}

// evaluateInput makes a call of the playground with a seat of the scheduler and the memory of the caller.
func (a *App) evaluateInput(ctx context.Context, evaluate playground.Call, body []byte) (answer []byte, err error) {
	of := *call.Of(ctx)
	of.Flow = call.Flow{Tenant: of.Caller, Name: playgroundPath}
	var lacking atomic.Pointer[error]
	err = a.scheduler.Run(call.With(ctx, &of), func(ctx context.Context) error {
		answer, err = evaluate(host.WithHooks(ctx, &host.Hooks{Grow: func(n int64) error {
			err := of.Lease.TryGrow(call.Tree, n)
			if err != nil {
				lacking.CompareAndSwap(nil, &err)
			}
			return err
		}}), body)
		return err
	})
	var malformed *playground.RequestError
	switch failed := lacking.Load(); {
	case failed != nil:
		return nil, api.MemoryError(*failed)
	case errors.As(err, &malformed):
		return nil, gateway.Malformed(malformed.Error())
	case err != nil:
		return nil, api.MemoryError(err)
	}
	return answer, nil
}

// playgroundIndex serves the page at playgroundPath with a slash.
func playgroundIndex(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if path, ok := strings.CutSuffix(r.URL.Path, "/"); ok && path == playgroundPath {
			r = r.Clone(r.Context())
			r.URL.Path, r.URL.RawPath = playgroundPage, ""
		}
		h.ServeHTTP(w, r)
	})
}
