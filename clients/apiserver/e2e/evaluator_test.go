package e2e

import (
	"fmt"
	"os"
	"testing"

	"github.com/crdeval/crdeval/clients/apiserver"
	"github.com/crdeval/crdeval/clients/apiserver/sidecar"
	"github.com/crdeval/crdeval/clients/apiserver/sidecar/sidecartest"
	"github.com/crdeval/crdeval/engine"
)

// startEvaluator returns the evaluator of a script by CRDEVAL_EVALUATOR: for sidecar one that calls a crdeval server of
// the script, for inprocess, which is the default, the engine in this process. It ends after the API server, which starts later.
func startEvaluator(t testing.TB) (apiserver.Evaluator, error) {
	t.Helper()
	switch name := os.Getenv("CRDEVAL_EVALUATOR"); name {
	case "", "inprocess":
		converter, err := apiserver.NewWebhookConverter(nil, nil)
		return apiserver.InProcess{Options: engine.Options{Converter: converter}}, err
	case "sidecar":
	default:
		return nil, fmt.Errorf("CRDEVAL_EVALUATOR is %q: it must be inprocess or sidecar", name)
	}
	server, err := sidecartest.New("--conversion-webhooks=localhost")
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { _ = server.Close() })
	if err := server.Start(); err != nil {
		return nil, err
	}
	e, err := sidecar.Dial(server.Address(), sidecar.Options{})
	if err == nil {
		t.Cleanup(func() { _ = e.Close() })
	}
	return e, err
}
