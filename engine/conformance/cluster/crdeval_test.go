//go:build cluster

package cluster

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/server/app"
)

// crontabRules converts the CronTabs of Kubernetes' documentation. Their schemas permit a host without a port, which
// v1beta1 cannot have.
const crontabRules = `
crd: crontabs.example.com
between: [v1, v1beta1]
except: [round-trip]
rules:
- cel: {to: hostPort, expr: "self.host + ':' + self.port"}
  back:
    host: self.hostPort.split(':')[0]
    port: self.hostPort.split(':')[1]
`

func TestCrdeval(t *testing.T) {
	migrate(t, startCrdeval(t, readCRD(t, crontabCRD), crontabRules), (*migration).runCommand)
}

// startCrdeval serves conversion rules of a CRD over TLS. Both are files in a directory of --crds.
func startCrdeval(t *testing.T, crd *apiextensionsv1.CustomResourceDefinition, rules string) webhook {
	t.Helper()
	own, folder := newCertificate(t), t.TempDir()
	for file, content := range map[string][]byte{"crd.json": document(t, crd), "rules.yaml": []byte(rules)} {
		if err := os.WriteFile(filepath.Join(folder, file), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	config, err := app.Defaults("--grpc-address=127.0.0.1:0", "--http-address=127.0.0.1:0", "--store=memory",
		"--crds="+folder, "--tls-cert="+own.file, "--tls-key="+own.keyFile)
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	server, err := app.Start(t.Context(), config, app.Build{Version: "v0.0.0-test"}, log)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})

	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(own.pem)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
	defer client.CloseIdleConnections()
	address := "https://" + server.HTTPAddresses()[0].String()
	eventually(t, "crdeval is ready", func() bool {
		answer, err := client.Get(address + "/readyz")
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		return answer.StatusCode == http.StatusOK
	})
	return webhook{url: address + "/webhooks/catalogs/default/convert", ca: own.pem}
}
