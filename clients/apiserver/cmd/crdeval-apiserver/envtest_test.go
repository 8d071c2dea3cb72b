package main

import (
	"context"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// TestMain makes the binary of the tests act as the command does under other names.
func TestMain(m *testing.M) {
	ctx, stop := context.WithCancel(context.Background())
	if filepath.Base(os.Args[0]) == apiserverName {
		ctx, stop = withSignals()
	}
	code, ok := runAs(ctx, filepath.Base(os.Args[0]), os.Args[1:], os.Stderr)
	if !ok {
		code = m.Run()
	}
	stop()
	os.Exit(code)
}

// link writes the links of envtest, and returns their directory.
func link(t *testing.T) string {
	t.Helper()
	dir, out := filepath.Join(t.TempDir(), "assets"), &output{}
	for range 2 { // the second call replaces the links
		if code := run(t.Context(), []string{"envtest", dir}, out, out); code != 0 {
			t.Fatalf("code %d: %s", code, out)
		}
	}
	if !strings.Contains(out.String(), "export KUBEBUILDER_ASSETS="+dir+"\n") {
		t.Errorf("output %q", out)
	}
	return dir
}

// start starts a program until the end of the test. The result is its stderr.
func start(t *testing.T, program string, args ...string) *output {
	t.Helper()
	c, stderr := exec.Command(program, args...), &output{}
	c.Stderr = stderr
	check(t, c.Start())
	t.Cleanup(func() {
		check(t, c.Process.Signal(syscall.SIGTERM))
		if err := c.Wait(); err != nil && filepath.Base(program) == apiserverName {
			t.Errorf("%s: %v: %s", program, err, stderr)
		}
	})
	return stderr
}

// freeAddress returns an address of the loopback interface that nothing listens on.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	check(t, err)
	defer func() { check(t, l.Close()) }()
	return l.Addr().String()
}

// waitHealthy waits until a URL returns 200.
func waitHealthy(t *testing.T, client *http.Client, url string, stderr *output) {
	t.Helper()
	for begin := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		r, err := client.Get(url)
		if err == nil {
			check(t, r.Body.Close())
			if r.StatusCode == http.StatusOK {
				return
			}
		}
		if time.Since(begin) > time.Minute {
			t.Fatalf("%s: %v: %s", url, err, stderr)
		}
	}
}

// TestEnvtest starts the programs with the flags of envtest.
func TestEnvtest(t *testing.T) {
	ctx, assets, dir := t.Context(), link(t), t.TempDir()
	etcd, peer, address := "http://"+freeAddress(t), "http://"+freeAddress(t), freeAddress(t)
	stderr := start(t, filepath.Join(assets, "etcd"), "--advertise-client-urls="+etcd, "--data-dir="+filepath.Join(dir, "etcd"),
		"--listen-client-urls="+etcd, "--listen-peer-urls="+peer, "--unsafe-no-fsync=true")
	waitHealthy(t, http.DefaultClient, etcd+"/health", stderr)

	ca := newCA(t)
	file := func(name string, content []byte) string {
		path := filepath.Join(dir, name)
		check(t, os.WriteFile(path, content, 0o600))
		return path
	}
	certificate, key := ca.issue(t, "server", "")
	file("apiserver.crt", certificate)
	file("apiserver.key", key)
	host, port, err := net.SplitHostPort(address)
	check(t, err)
	stderr = start(t, filepath.Join(assets, "kube-apiserver"), "--allow-privileged=true", "--authorization-mode=RBAC", "--bind-address="+host,
		"--cert-dir="+dir, "--client-ca-file="+file("client-ca.crt", ca.pem), "--disable-admission-plugins=ServiceAccount", "--etcd-servers="+etcd,
		"--secure-port="+port, "--service-account-issuer=https://"+address, "--service-cluster-ip-range=10.0.0.0/24")
	config := &rest.Config{Host: "https://" + address, TLSClientConfig: rest.TLSClientConfig{CAData: ca.pem}}
	anonymous, err := rest.HTTPClientFor(config)
	check(t, err)
	waitHealthy(t, anonymous, config.Host+"/healthz", stderr)

	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}}
	for _, c := range []struct {
		group   string
		allowed func(error) bool
	}{{"developers", apierrors.IsForbidden}, {"system:masters", func(err error) bool { return err == nil }}} {
		config.CertData, config.KeyData = ca.issue(t, "alice", c.group)
		var err error
		for begin := time.Now(); time.Since(begin) < 30*time.Second; time.Sleep(20 * time.Millisecond) {
			_, err = client(t, config).CoreV1().Pods("default").Create(ctx, pod, metav1.CreateOptions{})
			if !apierrors.IsNotFound(err) { // until the namespace default exists
				break
			}
		}
		if !c.allowed(err) {
			t.Errorf("a pod of group %s: %v", c.group, err)
		}
	}
	for _, name := range []string{"allow-privileged", "disable-admission-plugins", "service-account-issuer", "service-cluster-ip-range"} {
		if !strings.Contains(stderr.String(), "--"+name+" has no effect") {
			t.Errorf("nothing is logged about --%s: %s", name, stderr)
		}
	}
	if strings.Contains(stderr.String(), "--client-ca-file has") {
		t.Errorf("logged: %s", stderr)
	}
}

// TestKubeFlags checks the errors for flags of kube-apiserver, and --help.
func TestKubeFlags(t *testing.T) {
	stderr := &output{}
	if code, ok := runAs(t.Context(), apiserverName, []string{"--help"}, stderr); code != 0 || !ok || !strings.Contains(stderr.String(), "--cert-dir") {
		t.Errorf("--help: code %d, %s", code, stderr)
	}
	for _, c := range []struct{ flag, want string }{
		{"--etcd-servers=host", "--etcd-servers=host: must be a URL"}, {"--secure-port=x", "the port must be a number"},
	} {
		stderr := &output{}
		if code, _ := runAs(t.Context(), apiserverName, []string{c.flag}, stderr); code != exitError || !strings.Contains(stderr.String(), c.want) {
			t.Errorf("%s: code %d, %s", c.flag, code, stderr)
		}
	}
}

// TestExternalEtcd starts servers on an etcd that requires client certificates.
func TestExternalEtcd(t *testing.T) {
	ctx, dir, ca := t.Context(), t.TempDir(), newCA(t)
	certificate, key := ca.issue(t, "etcd", "")
	path := func(name string) string { return filepath.Join(dir, name) }
	for name, content := range map[string][]byte{"ca.crt": ca.pem, "etcd.crt": certificate, "etcd.key": key} {
		check(t, os.WriteFile(path(name), content, 0o600))
	}
	etcd, peer := "https://"+freeAddress(t), "http://"+freeAddress(t)
	stderr := start(t, filepath.Join(link(t), "etcd"), "--advertise-client-urls="+etcd, "--data-dir="+path("etcd"), "--listen-client-urls="+etcd,
		"--listen-peer-urls="+peer, "--client-cert-auth", "--trusted-ca-file="+path("ca.crt"), "--cert-file="+path("etcd.crt"), "--key-file="+path("etcd.key"))
	secure, err := rest.HTTPClientFor(&rest.Config{TLSClientConfig: rest.TLSClientConfig{CAData: ca.pem, CertData: certificate, KeyData: key}})
	check(t, err)
	waitHealthy(t, secure, etcd+"/health", stderr)

	flags := []string{"--etcd-servers=" + etcd, "--etcd-cafile=" + path("ca.crt"), "--etcd-certfile=" + path("etcd.crt"), "--etcd-keyfile=" + path("etcd.key")}
	for i, step := range []struct {
		prefix string
		found  bool
	}{{"/a", false}, {"/a", true}, {"/b", false}} {
		data := filepath.Join(dir, "server", string(rune('0'+i)))
		config, stop := serve(t, data, append(flags, "--etcd-prefix="+step.prefix)...)
		namespaces := client(t, config).CoreV1().Namespaces()
		_, err := namespaces.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "x"}}, metav1.CreateOptions{})
		if step.found != apierrors.IsAlreadyExists(err) || !step.found && err != nil {
			t.Errorf("server %d with the prefix %s: %v", i, step.prefix, err)
		}
		stop()
		if exists(filepath.Join(data, "data", "etcd")) {
			t.Errorf("server %d has an etcd of its own", i)
		}
	}
}
