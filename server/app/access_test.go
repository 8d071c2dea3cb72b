package app

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/dynamicpb"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/internal/testcert"
)

const accessFile = `
bindings:
- {role: reader, catalogs: [default], users: [reader]}
- {role: evaluator, catalogs: [default], users: [evaluator]}
- {role: registrar, catalogs: [default], users: [registrar]}
- {role: admin, catalogs: ["*"], users: [admin]}
- {role: admin, catalogs: [other], users: [stranger]}
quotas: [{catalogs: [other], crds: 3}]
`

// callers are those of the test: the roles in the columns of docs/access.md, a caller with a role in another catalog
// only, and one without credentials.
var callers = []string{"reader", "evaluator", "registrar", "admin", "stranger", "anonymous"}

// roleTable reads docs/access.md: the callers that may make a call.
func roleTable(t *testing.T) map[string][]string {
	t.Helper()
	text, err := os.ReadFile("../../docs/access.md")
	if err != nil {
		t.Fatal(err)
	}
	table := map[string][]string{
		"ServerService/GetServerInfo": callers[:5], "RegistryService/ListCatalogs": callers[:5], "ServerReflection/ServerReflectionInfo": callers[:5],
		"Health/Check": callers, "Health/List": callers, "Health/Watch": callers,
	}
	named := regexp.MustCompile("`([A-Za-z]+)`")
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) != 5 || strings.TrimSpace(cells[1]) != "yes" && strings.TrimSpace(cells[1]) != "no" {
			continue
		}
		var allowed []string
		for i, cell := range cells[1:] {
			if strings.TrimSpace(cell) == "yes" {
				allowed = append(allowed, callers[i])
			}
		}
		prefix := ""
		if strings.Contains(cells[0], "webhooks") {
			prefix = "webhook/"
		}
		for _, match := range named.FindAllStringSubmatch(cells[0], -1) {
			table[prefix+match[1]] = allowed
		}
	}
	return table
}

// rowOf returns the callers that may call a method.
func rowOf(t *testing.T, table map[string][]string, method protoreflect.MethodDescriptor) []string {
	t.Helper()
	for _, name := range []string{string(method.Parent().Name()) + "/" + string(method.Name()), string(method.Name())} {
		if row, ok := table[name]; ok {
			return row
		}
	}
	t.Errorf("docs/access.md has no row for %s", method.FullName())
	return nil
}

// TestRolesOfCalls checks every cell of role × call × transport.
func TestRolesOfCalls(t *testing.T) {
	directory, table := t.TempDir(), roleTable(t)
	put := func(name, text string) string {
		path := filepath.Join(directory, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	var tokens strings.Builder
	for _, c := range callers[:5] {
		fmt.Fprintf(&tokens, "token-%s,%s,1\n", c, c)
	}
	access := put("access.yaml", accessFile)
	plain := start(t, "--access-file="+access, "--auth-token-file="+put("tokens", tokens.String()),
		"--grpc-address=127.0.0.1:0,unix://"+directory+"/grpc.sock", "--http-address=127.0.0.1:0,unix://"+directory+"/http.sock")
	ca := testcert.New(t)
	certificate, key := ca.Issue(t, "server", time.Hour)
	secure := start(t, "--access-file="+access, "--tls-cert="+put("tls.crt", string(certificate)), "--tls-key="+put("tls.key", string(key)),
		"--tls-client-ca="+put("ca.crt", string(ca.PEM)))
	mixed := start(t, "--access-file="+access, "--tls-cert="+put("tls.crt", string(certificate)), "--tls-key="+put("tls.key", string(key)),
		"--tls-client-ca="+put("ca.crt", string(ca.PEM)), "--tls-client-auth=optional", "--auth-token-file="+put("tokens", tokens.String()))
	for _, r := range []*running{plain, secure, mixed} {
		eventually(t, func() error {
			if !strings.Contains(r.log.String(), "msg=serving") {
				return errors.New("not serving")
			}
			return nil
		})
	}
	for name, w := range map[string]accessWorld{
		"TCP":   {server: plain, grpc: plain.GRPCAddresses()[0], http: plain.HTTPAddresses()[0]},
		"unix":  {server: plain, grpc: plain.GRPCAddresses()[1], http: plain.HTTPAddresses()[1]},
		"TLS":   {server: secure, grpc: secure.GRPCAddresses()[0], http: secure.HTTPAddresses()[0], ca: ca},
		"mixed": {server: mixed, grpc: mixed.GRPCAddresses()[0], http: mixed.HTTPAddresses()[0], ca: ca, optional: true},
	} {
		for _, caller := range callers {
			t.Run(name+"/"+caller, func(t *testing.T) {
				w.checkGRPC(t, caller, table)
				w.checkREST(t, caller, table)
			})
		}
	}
}

// accessWorld is a transport.
type accessWorld struct {
	server *running
	grpc   net.Addr
	http   net.Addr
	ca     *testcert.CA // nil: without TLS

	optional bool // certificates are optional: some callers have one, the others a token
}

// presents returns what a caller presents.
func (w accessWorld) presents(caller string) (certificate, token bool) {
	certificate = w.ca != nil && (!w.optional || slices.Index(callers, caller)%2 == 0)
	return certificate && caller != "anonymous", !certificate && caller != "anonymous"
}

// tlsOf returns the client configuration of a caller.
func (w accessWorld) tlsOf(t *testing.T, caller string) *tls.Config {
	t.Helper()
	c := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: w.ca.Pool, ServerName: "localhost"}
	if certificate, _ := w.presents(caller); certificate {
		c.Certificates = []tls.Certificate{w.ca.Pair(t, caller, time.Hour)}
	}
	return c
}

// judge checks the outcome of a call. If certificates are required, anonymous callers cannot connect.
func (w accessWorld) judge(t *testing.T, call, caller string, allowed []string, code codes.Code, connected bool) {
	t.Helper()
	switch {
	case w.ca != nil && !w.optional && caller == "anonymous":
		if connected {
			t.Errorf("%s: connected without a certificate", call)
		}
		return
	case slices.Contains(allowed, caller):
		if code == codes.PermissionDenied || code == codes.Unauthenticated || !connected {
			t.Errorf("%s: %v, want it to be allowed", call, code)
		}
		return
	}
	want := codes.PermissionDenied
	if caller == "anonymous" {
		want = codes.Unauthenticated
	}
	if code != want {
		t.Errorf("%s: %v, want %v", call, code, want)
	}
}

// checkGRPC calls every method of the server.
func (w accessWorld) checkGRPC(t *testing.T, caller string, table map[string][]string) {
	t.Helper()
	target, secrets := w.grpc.String(), insecure.NewCredentials()
	if w.grpc.Network() == "unix" {
		target = "unix://" + target
	}
	ctx := t.Context()
	if w.ca != nil {
		secrets = credentials.NewTLS(w.tlsOf(t, caller))
	}
	if _, token := w.presents(caller); token {
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer token-"+caller)
	}
	conn, err := grpc.NewClient(target, grpc.WithTransportCredentials(secrets))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	services := w.server.grpc.GetServiceInfo()
	for _, name := range slices.Sorted(maps.Keys(services)) {
		found, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(name))
		if err != nil {
			t.Fatal(err)
		}
		methods := found.(protoreflect.ServiceDescriptor).Methods()
		for i := range methods.Len() {
			method := methods.Get(i)
			err := invoke(ctx, conn, method)
			code := status.Code(err)
			w.judge(t, string(method.FullName()), caller, rowOf(t, table, method), code, code != codes.Unavailable)
		}
	}
}

// invoke calls a method in the default catalog, with an otherwise empty request.
func invoke(ctx context.Context, conn grpc.ClientConnInterface, method protoreflect.MethodDescriptor) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	path := fmt.Sprintf("/%s/%s", method.Parent().FullName(), method.Name())
	request, response := dynamicpb.NewMessage(method.Input()), dynamicpb.NewMessage(method.Output())
	about := protoreflect.Message(request)
	if field := method.Input().Fields().ByName("context"); field != nil {
		about = request.Mutable(field).Message()
	}
	if field := about.Descriptor().Fields().ByName("catalog"); field != nil {
		about.Set(field, protoreflect.ValueOfString("default"))
	}
	if !method.IsStreamingServer() {
		return conn.Invoke(ctx, path, request, response)
	}
	stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: method.IsStreamingClient()}, path)
	if err != nil {
		return err
	}
	if err := stream.SendMsg(request); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if err := stream.CloseSend(); err != nil {
		return err
	}
	if err := stream.RecvMsg(response); !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

// checkREST calls every route, the streams and the webhooks.
func (w accessWorld) checkREST(t *testing.T, caller string, table map[string][]string) {
	t.Helper()
	transport := &http.Transport{DisableKeepAlives: false}
	defer transport.CloseIdleConnections()
	base := "http://localhost"
	if w.ca != nil {
		base, transport.TLSClientConfig = "https://localhost", w.tlsOf(t, caller)
	}
	transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, w.http.Network(), w.http.String())
	}
	client := &http.Client{Transport: transport}
	call := func(name string, allowed []string, method, path, media, body string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, base+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if body != "" {
			r.Header.Set("Content-Type", media)
		}
		if _, token := w.presents(caller); token {
			r.Header.Set("Authorization", "Bearer token-"+caller)
		}
		answer, err := client.Do(r)
		if err != nil {
			w.judge(t, name, caller, allowed, codes.Unavailable, false)
			return
		}
		_ = answer.Body.Close()
		code := codes.OK
		switch answer.StatusCode {
		case http.StatusUnauthorized:
			code = codes.Unauthenticated
		case http.StatusForbidden:
			code = codes.PermissionDenied
		}
		w.judge(t, name+" "+path, caller, allowed, code, true)
	}
	for _, r := range routesOf(t) {
		body := r.body
		if body != "" {
			body = "{}"
		}
		call("REST "+r.method, rowOf(t, table, r.of), r.method, r.path, "application/json", body)
	}
	for verb, name := range map[string]string{"admitStream": "AdmitStream", "readStream": "ReadStream"} {
		call("REST stream", table[name], http.MethodPost, "/v1/catalogs/default:"+verb, "application/x-ndjson", "{}\n")
	}
	object := `{"apiVersion":"stable.example.com/v1","kind":"CronTab","metadata":{"name":"c","namespace":"default"}}`
	kind := `{"group":"stable.example.com","version":"v1","kind":"CronTab"}`
	resource := `{"group":"stable.example.com","version":"v1","resource":"crontabs"}`
	review := `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"1","kind":` + kind + `,"requestKind":` + kind +
		`,"resource":` + resource + `,"requestResource":` + resource + `,"name":"c","namespace":"default","operation":"CREATE","object":` + object + `}}`
	conversion := `{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","request":{"uid":"1","desiredAPIVersion":"stable.example.com/v1","objects":[` + object + `]}}`
	for name, body := range map[string]string{"mutate": review, "validate": review, "convert": conversion} {
		row, ok := table["webhook/"+name]
		if !ok {
			t.Errorf("docs/access.md has no row for the webhook %s", name)
		}
		call("webhook", row, http.MethodPost, "/webhooks/catalogs/default/"+name, "application/json", body)
	}
}

// restRoute is a route of a method in the default catalog.
type restRoute struct {
	of                 protoreflect.MethodDescriptor
	method, path, body string
}

func routesOf(t *testing.T) (all []restRoute) {
	t.Helper()
	parameter := regexp.MustCompile(`\{[\w.]+\}`)
	protoregistry.GlobalFiles.RangeFilesByPackage("crdeval.v1", func(file protoreflect.FileDescriptor) bool {
		for i := range file.Services().Len() {
			for j := range file.Services().Get(i).Methods().Len() {
				method := file.Services().Get(i).Methods().Get(j)
				rule, _ := proto.GetExtension(method.Options(), annotations.E_Http).(*annotations.HttpRule)
				if rule == nil {
					continue
				}
				for _, r := range append([]*annotations.HttpRule{rule}, rule.GetAdditionalBindings()...) {
					path, verb := r.GetGet(), http.MethodGet
					if r.GetPost() != "" {
						path, verb = r.GetPost(), http.MethodPost
					} else if r.GetDelete() != "" {
						path, verb = r.GetDelete(), http.MethodDelete
					}
					path = strings.NewReplacer("{catalog}", "default", "{context.catalog}", "default", "{spec}", "v2", "{crd}", "crontabs.stable.example.com").Replace(path)
					all = append(all, restRoute{method, verb, parameter.ReplaceAllString(path, "x"), r.GetBody()})
				}
			}
		}
		return true
	})
	if len(all) < 30 {
		t.Fatalf("only %d routes", len(all))
	}
	return all
}

// withToken returns a context for calls with the token of a caller.
func withToken(t *testing.T, caller string) context.Context {
	t.Helper()
	return metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer token-"+caller)
}

// TestHiddenCatalogs: a caller learns nothing about catalogs in which it has no role, and its watches and streams end
// when it loses the role.
func TestHiddenCatalogs(t *testing.T) {
	directory := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(directory, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	log := filepath.Join(directory, "audit.log")
	r := start(t, "--access-file="+write("access.yaml", accessFile), "--audit-log="+log,
		"--auth-token-file="+write("tokens", "token-admin,admin,1\ntoken-stranger,stranger,1\ntoken-reader,reader,1\ntoken-evaluator,evaluator,1\n"))
	conn := r.conn(t)
	registry := crdevalv1.NewRegistryServiceClient(conn)
	if _, err := registry.CreateCatalog(withToken(t, "admin"), &crdevalv1.CreateCatalogRequest{Catalog: "other"}); err != nil {
		t.Fatal(err)
	}
	listed, err := registry.ListCatalogs(withToken(t, "stranger"), &crdevalv1.ListCatalogsRequest{})
	if err != nil || len(listed.GetCatalogs()) != 1 || listed.GetCatalogs()[0].GetName() != "other" {
		t.Errorf("the stranger sees %v, %v", listed.GetCatalogs(), err)
	}
	if n := listed.GetCatalogs()[0].GetQuota().GetCrds(); n != 3 {
		t.Errorf("the quota of CRDs is %d", n)
	}
	var texts []string
	for _, catalog := range []string{"default", "missing"} {
		_, err := registry.GetCatalog(withToken(t, "stranger"), &crdevalv1.GetCatalogRequest{Catalog: catalog})
		if status.Code(err) != codes.PermissionDenied {
			t.Errorf("%s: %v", catalog, err)
		}
		texts = append(texts, strings.ReplaceAll(fmt.Sprint(status.Convert(err).Proto()), catalog, "?"))
	}
	if texts[0] != texts[1] || !strings.Contains(texts[0], `stranger`) || !strings.Contains(texts[0], "reader, evaluator, registrar or admin") {
		t.Errorf("%q", texts)
	}

	watch, err := registry.WatchCrds(withToken(t, "reader"), &crdevalv1.WatchCrdsRequest{Catalog: "default"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := watch.Recv(); err != nil {
		t.Fatal(err)
	}
	stream, err := crdevalv1.NewEvaluationServiceClient(conn).AdmitStream(withToken(t, "evaluator"))
	if err == nil {
		err = stream.Send(&crdevalv1.AdmitStreamRequest{Context: &crdevalv1.EvaluationContext{Catalog: "default"}})
	}
	if err == nil {
		_, err = stream.Header()
	}
	if err != nil {
		t.Fatal(err)
	}
	kept, err := registry.WatchCrds(withToken(t, "admin"), &crdevalv1.WatchCrdsRequest{Catalog: "default"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := kept.Recv(); err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+r.HTTPAddresses()[0].String()+"/v1/catalogs/default/crds:watch", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer token-reader")
	overREST, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = overREST.Body.Close() }()
	write("access.yaml", `bindings: [{role: admin, catalogs: ["*"], users: [admin]}]`)
	r.access.Reload(t.Context())
	if text, err := io.ReadAll(overREST.Body); err != nil || !strings.Contains(string(text), "PERMISSION_DENIED") {
		t.Errorf("the watch over REST ended with %s, %v", text, err)
	}
	for err == nil {
		_, err = watch.Recv()
	}
	if status.Code(err) != codes.PermissionDenied {
		t.Errorf("the watch ended with %v", err)
	}
	if _, err := stream.Recv(); status.Code(err) != codes.PermissionDenied {
		t.Errorf("the stream ended with %v", err)
	}
	write("access.yaml", "bindings: nonsense")
	r.access.Reload(t.Context())
	if _, err := registry.CreateCatalog(withToken(t, "admin"), &crdevalv1.CreateCatalogRequest{Catalog: "third"}); err != nil {
		t.Errorf("after an invalid file: %v", err)
	}
	if _, err := registry.DeleteCatalog(withToken(t, "admin"), &crdevalv1.DeleteCatalogRequest{Catalog: "third"}); err != nil {
		t.Error(err)
	}
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"event":"change","user":"admin"`, `"action":"CreateCatalog","catalog":"other","outcome":"CREATED"`,
		`"action":"/crdeval.v1.RegistryService/GetCatalog","catalog":"missing","outcome":"PERMISSION_DENIED"`,
		`"action":"/crdeval.v1.RegistryService/WatchCrds"`, `"action":"DeleteCatalog","catalog":"third","outcome":"DELETED"`,
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%s is not in the audit log:\n%s", want, text)
		}
	}
	if strings.Contains(string(text), "token-") {
		t.Errorf("a token is in the audit log:\n%s", text)
	}
	rotate(t, log)
	if _, err := registry.CreateCatalog(withToken(t, "admin"), &crdevalv1.CreateCatalogRequest{Catalog: "fourth"}); err != nil {
		t.Fatal(err)
	}
	text, err = os.ReadFile(log)
	if err != nil || strings.Count(string(text), "\n") != 1 || !strings.Contains(string(text), `"catalog":"fourth"`) {
		t.Errorf("the log after the rotation: %v\n%s", err, text)
	}
}

// rotate renames a log file, sends SIGHUP, and waits for the new file.
func rotate(t *testing.T, log string) {
	t.Helper()
	if err := os.Rename(log, log+".1"); err != nil {
		t.Fatal(err)
	}
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if err := self.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error { _, err := os.Stat(log); return err })
}
