package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spf13/pflag"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/server/options"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"github.com/crdeval/crdeval/clients/apiserver/sidecar"
	"github.com/crdeval/crdeval/server/reload"
	"github.com/crdeval/crdeval/server/settings"
)

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// output is the stderr of the command.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// serve runs the command until it is ready. The result is the configuration of its kubeconfig, and a function that stops
// the server as SIGTERM does.
func serve(t *testing.T, dir string, flags ...string) (*rest.Config, func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer t.Cleanup(cancel)
	stderr, code := &output{}, make(chan int, 1)
	args := append([]string{"serve", "--address=127.0.0.1:0", "--data-dir=" + filepath.Join(dir, "data"), "--kubeconfig=" + filepath.Join(dir, "kubeconfig")}, flags...)
	go func() { code <- run(ctx, args, stderr, stderr) }()
	for begin := time.Now(); !strings.Contains(stderr.String(), "the API server is ready"); time.Sleep(20 * time.Millisecond) {
		if len(code) > 0 || time.Since(begin) > time.Minute {
			t.Fatalf("the server does not start: %s", stderr)
		}
	}
	config, err := clientcmd.BuildConfigFromFlags("", filepath.Join(dir, "kubeconfig"))
	check(t, err)
	return config, func() {
		t.Helper()
		cancel()
		if c := <-code; c != 0 || !strings.Contains(stderr.String(), "the API server has stopped") {
			t.Errorf("stopped with code %d: %s", c, stderr)
		}
	}
}

func client(t *testing.T, config *rest.Config) *kubernetes.Clientset {
	t.Helper()
	c, err := kubernetes.NewForConfig(config)
	check(t, err)
	return c
}

// TestServe starts a server, uses its credentials, stops it while a client watches, and starts it again.
func TestServe(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	tokens, ca := filepath.Join(dir, "tokens.csv"), newCA(t)
	check(t, os.WriteFile(tokens, []byte("secret-of-bob,bob,1,\"developers\"\n"), 0o600))
	check(t, os.WriteFile(filepath.Join(dir, "ca.crt"), ca.pem, 0o600))
	flags := []string{"--authorization-mode=RBAC", "--token-auth-file=" + tokens, "--client-ca-file=" + filepath.Join(dir, "ca.crt")}
	config, stop := serve(t, dir, flags...)
	for _, name := range []string{"kubeconfig", "data/admin-token", "data/server.key"} {
		info, err := os.Stat(filepath.Join(dir, name))
		check(t, err)
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has the mode %v", name, info.Mode())
		}
	}
	admin := client(t, config)
	version, err := admin.Discovery().ServerVersion()
	check(t, err)
	if !strings.HasPrefix(version.GitVersion, "v1.") {
		t.Errorf("version %s", version.GitVersion)
	}
	_, err = admin.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{})
	check(t, err)

	bob := rest.AnonymousClientConfig(config)
	if err := client(t, bob).CoreV1().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error(); err != nil {
		t.Errorf("/readyz without a credential: %v", err)
	}
	if _, err := client(t, bob).CoreV1().Namespaces().List(ctx, metav1.ListOptions{}); !apierrors.IsUnauthorized(err) {
		t.Errorf("without a credential: %v", err)
	}
	bob.BearerToken = "secret-of-bob"
	if _, err := client(t, bob).CoreV1().Namespaces().List(ctx, metav1.ListOptions{}); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), `User "bob"`) {
		t.Errorf("with the token of bob: %v", err)
	}
	carol := rest.AnonymousClientConfig(config)
	carol.CertData, carol.KeyData = ca.issue(t, "carol", "system:masters")
	if _, err := client(t, carol).CoreV1().Namespaces().List(ctx, metav1.ListOptions{}); err != nil {
		t.Errorf("with the certificate of carol: %v", err)
	}

	watch, err := admin.CoreV1().Namespaces().Watch(ctx, metav1.ListOptions{})
	check(t, err)
	defer watch.Stop()
	stop()

	token := config.BearerToken
	config, stop = serve(t, dir, flags...)
	defer stop()
	if config.BearerToken != token {
		t.Error("a restart changes the admin token")
	}
	if _, err := client(t, config).CoreV1().Namespaces().Get(ctx, "a", metav1.GetOptions{}); err != nil {
		t.Errorf("after a restart: %v", err)
	}
}

// TestUnreachableSidecar: the server logs a warning at its start if it cannot reach its sidecar.
func TestUnreachableSidecar(t *testing.T) {
	c := serveCommand{Sidecar: "unix://" + filepath.Join(t.TempDir(), "missing.sock")}
	e, err := sidecar.Dial(c.Sidecar, sidecar.Options{Timeout: time.Second})
	check(t, err)
	defer func() { check(t, e.Close()) }()
	var stderr output
	c.checkSidecar(t.Context(), e, slog.New(slog.NewTextHandler(&stderr, nil)))
	if !strings.Contains(stderr.String(), "the sidecar cannot be reached") || !strings.Contains(stderr.String(), c.Sidecar) {
		t.Error(stderr.String())
	}
}

// TestLoopbackAllows checks that roles are not needed on a loopback address, and that a new token becomes valid.
func TestLoopbackAllows(t *testing.T) {
	dir := t.TempDir()
	tokens := filepath.Join(dir, "tokens.csv")
	check(t, os.WriteFile(tokens, []byte("secret-of-bob,bob,1\n"), 0o600))
	config, stop := serve(t, dir, "--token-auth-file="+tokens)
	defer stop()
	bob := rest.AnonymousClientConfig(config)
	bob.BearerToken = "secret-of-bob"
	if _, err := client(t, bob).CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Errorf("bob lists namespaces: %v", err)
	}
	check(t, os.WriteFile(tokens, []byte("new-secret-of-bob,bob,1\n"), 0o600))
	bob.BearerToken = "new-secret-of-bob"
	for begin := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		_, err := client(t, bob).CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{})
		if err == nil {
			break
		}
		if time.Since(begin) > 12*reload.Interval {
			t.Fatalf("the new token: %v", err)
		}
	}
}

// TestFlags checks the errors for flags, which name the flag and its value.
func TestFlags(t *testing.T) {
	dir := t.TempDir()
	missing := filepath.Join(dir, "missing")
	for _, c := range []struct {
		flags []string
		want  []string
	}{
		{[]string{"--address=6443"}, []string{"--address=6443: must be host:port"}},
		{[]string{"--address=localhost:x"}, []string{"--address=localhost:x: the port must be a number"}},
		{[]string{"--authorization-mode=ABAC"}, []string{`--authorization-mode: "ABAC" is not AlwaysAllow or RBAC`}},
		{[]string{"--etcd-servers=host:2379"}, []string{"--etcd-servers=host:2379: must be a URL"}},
		{[]string{"--tls-cert-file=" + missing}, []string{"set --tls-private-key-file too", "--tls-cert-file=" + missing + ": cannot read the file"}},
		{[]string{"--tls-cert-file=serve.go", "--tls-private-key-file=flags.go", "--data-dir=" + dir, "--address=127.0.0.1:0"},
			[]string{"--tls-cert-file=serve.go --tls-private-key-file=flags.go: tls: failed to find any PEM data"}},
		{[]string{"--etcd-cafile=serve.go"}, []string{"--etcd-cafile=serve.go: set --etcd-servers too"}},
		{[]string{"--token-auth-file=" + missing}, []string{"--token-auth-file=" + missing + ": cannot read the file"}},
		{[]string{"--evaluator=sidecar"}, []string{"--evaluator=sidecar: set --sidecar"}},
		{[]string{"--evaluator=remote"}, []string{`--evaluator: "remote" is not in-process or sidecar`}},
		{[]string{"--unknown"}, []string{"unknown flag --unknown", "crdeval-apiserver serve --help"}},
	} {
		stderr := &output{}
		if code := run(t.Context(), append([]string{"serve"}, c.flags...), stderr, stderr); code != exitError {
			t.Errorf("%v: exit code %d", c.flags, code)
		}
		for _, want := range c.want {
			if !strings.Contains(stderr.String(), want) {
				t.Errorf("%v: %q lacks %q", c.flags, stderr, want)
			}
		}
	}
}

// TestCertificate checks that a self-signed certificate is kept, and replaced if its key is missing.
func TestCertificate(t *testing.T) {
	c := &serveCommand{DataDir: t.TempDir(), Address: "127.0.0.1:6443"}
	create := func() string {
		check(t, c.setCertificate(options.NewSecureServingOptions().WithLoopback()))
		text, err := os.ReadFile(filepath.Join(c.DataDir, "server.crt"))
		check(t, err)
		return string(text)
	}
	first := create()
	if create() != first {
		t.Error("a usable certificate is replaced")
	}
	check(t, os.Remove(filepath.Join(c.DataDir, "server.key")))
	if create() == first {
		t.Error("a certificate without its key is kept")
	}
}

type authority struct {
	certificate *x509.Certificate
	key         *rsa.PrivateKey
	pem         []byte
}

func newCA(t *testing.T) authority {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	check(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "ca"}, NotAfter: time.Now().Add(time.Hour), IsCA: true,
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	check(t, err)
	certificate, err := x509.ParseCertificate(der)
	check(t, err)
	return authority{certificate, key, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})}
}

// issue returns a certificate of a client, or of a server on 127.0.0.1, and its key.
func (a authority) issue(t *testing.T, user, group string) (certificate, key []byte) {
	t.Helper()
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	check(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: user, Organization: []string{group}}, NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, &private.PublicKey, a.key)
	check(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(private)})
}

// TestManifest parses the flags in deploy/apiserver. The files that they name are those of its volumes.
func TestManifest(t *testing.T) {
	text, err := os.ReadFile("../../../../deploy/apiserver/statefulset.yaml")
	check(t, err)
	var set appsv1.StatefulSet
	for document := range strings.SplitSeq(string(text), "\n---\n") {
		if strings.Contains(document, "kind: StatefulSet") {
			check(t, yaml.UnmarshalStrict([]byte(document), &set))
		}
	}
	pod := set.Spec.Template.Spec
	if len(pod.Containers) != 1 || !slices.Equal(pod.Containers[0].Command, []string{"/crdeval-apiserver", "serve"}) {
		t.Fatalf("containers %+v", pod.Containers)
	}
	flags := &serveCommand{}
	declared := settings.Declare(flags, environmentPrefix)
	arguments := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	declared.AddTo(arguments)
	check(t, arguments.Parse(pod.Containers[0].Args))
	check(t, declared.Err())
	if err = flags.Validate(); err == nil {
		t.Fatal("the files of the volumes exist here: this tests nothing")
	}
	for _, problem := range strings.Split(err.Error(), "\n") {
		if !strings.Contains(problem, "cannot read the file") {
			t.Errorf("the flags: %s", problem)
		}
	}
	socket := ""
	for _, variable := range pod.InitContainers[0].Env {
		if variable.Name == "CRDEVAL_GRPC_ADDRESS" {
			socket = variable.Value
		}
	}
	if flags.Sidecar != socket || socket == "" {
		t.Errorf("the API server calls %q, the sidecar listens on %q", flags.Sidecar, socket)
	}
	for _, path := range []string{flags.DataDir, flags.TLSCertFile, flags.TLSPrivateKeyFile, flags.TokenAuthFile} {
		if !slices.ContainsFunc(pod.Containers[0].VolumeMounts, func(m corev1.VolumeMount) bool { return strings.HasPrefix(path, m.MountPath+"/") }) {
			t.Errorf("no volume is mounted for %q", path)
		}
	}
}
