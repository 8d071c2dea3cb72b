package etcd_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/crdeval/crdeval/server/registry"
	"github.com/crdeval/crdeval/server/registry/etcd"
	"github.com/crdeval/crdeval/server/registry/etcd/etcdtest"
)

func put(key, value string) registry.Transaction {
	return registry.Transaction{Put: []registry.Entry{{Key: key, Value: []byte(value)}}}
}

// patience bounds how long a test waits for a condition.
const patience = 5 * time.Minute

// eventually calls f until it succeeds.
func eventually(t *testing.T, f func() error) {
	t.Helper()
	for began := time.Now(); ; {
		err := f()
		if err == nil {
			return
		}
		if time.Since(began) > patience {
			t.Fatal(err)
		}
	}
}

func says(t *testing.T, err error, wants ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one that says %q", wants)
	}
	for _, want := range wants {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not say %q: %v", want, err)
		}
	}
}

// public is the text that callers get. It contains no address.
func public(t *testing.T, err error, want string, unchanged bool, endpoint string) {
	t.Helper()
	var f *registry.Failure
	if !errors.As(err, &f) {
		t.Fatalf("no Failure: %v", err)
	}
	if !strings.Contains(f.Public, want) || strings.Contains(f.Public, strings.TrimPrefix(endpoint, "http://")) {
		t.Errorf("callers get %q, want %q and no address", f.Public, want)
	}
	if f.Unchanged != unchanged {
		t.Errorf("unchanged: %v: %v", f.Unchanged, err)
	}
}

// While etcd is unavailable, requests fail after the limit with an error that says where to look. They succeed again when
// etcd is back.
func TestUnavailable(t *testing.T) {
	const limit = 2 * time.Second
	server := etcdtest.Start(t)
	s := open(t, etcd.Options{Endpoints: []string{server.Endpoint}, DialTimeout: limit})
	for _, tc := range []struct {
		name      string
		leave     func()
		back      func()
		says      []string
		unchanged bool
	}{
		{"killed", server.Kill, server.Start, []string{server.Endpoint, "refused", "nothing was written", "check that a majority"}, true},
		{"hangs", server.Pause, server.Continue, []string{server.Endpoint, "it may have been written"}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			eventually(t, func() error { _, err := s.Commit(t.Context(), put("before", tc.name)); return err })
			tc.leave()
			// A request on a connection that the client believes to be intact has an unknown outcome.
			for began := time.Now(); tc.unchanged; {
				if _, err := s.Load(t.Context()); err != nil && strings.Contains(err.Error(), "refused") {
					break
				}
				if time.Since(began) > patience {
					t.Fatal("the client does not detect that etcd is gone")
				}
			}
			_, err := s.Commit(t.Context(), put("meanwhile "+tc.name, ""))
			says(t, err, tc.says...)
			public(t, err, "did not answer in time", tc.unchanged, server.Endpoint)
			t.Log(err)
			_, err = s.Load(t.Context())
			says(t, err, server.Endpoint, "check that a majority")
			if strings.Contains(err.Error(), "written") {
				t.Errorf("nothing was to be written: %v", err)
			}
			_, err = etcd.Open(t.Context(), etcd.Options{Endpoints: []string{server.Endpoint}, DialTimeout: limit})
			says(t, err, server.Endpoint, "check that a majority")
			// The caller's own deadline may come first.
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			if _, err := s.Load(ctx); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), server.Endpoint) {
				t.Errorf("got %v", err)
			}
			tc.back()
			// The client may be in the pause before its next attempt to connect, which is about as long as the limit.
			eventually(t, func() error { _, err := s.Commit(t.Context(), put("after", tc.name)); return err })
			var state registry.State
			eventually(t, func() (err error) { state, err = s.Load(t.Context()); return err })
			for _, e := range state.Entries {
				if e.Key == "meanwhile "+tc.name && tc.unchanged {
					t.Error("what was said not to be written is there")
				}
			}
		})
	}
}

func TestConnectionRefused(t *testing.T) {
	err := unopened(t, etcd.Options{Endpoints: []string{"http://127.0.0.1:1"}, DialTimeout: 300 * time.Millisecond}, "connection refused")
	says(t, err, "127.0.0.1:1", "check that a majority")
}

// unopened is why a store cannot be opened. The reason comes with the first attempt to connect, for which a busy
// machine needs more time than any other.
func unopened(t *testing.T, o etcd.Options, reason string) (err error) {
	t.Helper()
	for ; o.DialTimeout < patience; o.DialTimeout *= 4 {
		if _, err = etcd.Open(t.Context(), o); err == nil || strings.Contains(err.Error(), reason) {
			break
		}
		t.Logf("within %v: %v", o.DialTimeout, err)
	}
	says(t, err, reason)
	return err
}

// A write that etcd rejects at once is distinguished from all other failures, and changes nothing.
func TestTooLarge(t *testing.T) {
	server := etcdtest.Start(t)
	s := open(t, etcd.Options{Endpoints: []string{server.Endpoint}})
	many := registry.Transaction{}
	for i := range 200 {
		many.Put = append(many.Put, registry.Entry{Key: fmt.Sprint(i)})
	}
	expecting := registry.Transaction{}
	for i := range 200 {
		expecting.Expect = append(expecting.Expect, registry.Expectation{Key: fmt.Sprint(i)})
	}
	large := func(n int) registry.Transaction {
		return registry.Transaction{Put: []registry.Entry{{Key: "k", Value: bytes.Repeat([]byte{'x'}, n)}}}
	}
	for name, tx := range map[string]registry.Transaction{
		"many entries": many, "many expectations": expecting,
		"1.6 MiB": large(1600 << 10), "3 MiB": large(3 << 20), "70 MiB": large(70 << 20),
	} {
		_, err := s.Commit(t.Context(), tx)
		if !errors.Is(err, registry.ErrTooLarge) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		says(t, err, "--max-request-bytes", "nothing was written")
		public(t, err, "is too large", true, server.Endpoint)
	}
	if state, err := s.Load(t.Context()); err != nil || len(state.Entries) != 0 {
		t.Errorf("%d entries, %v", len(state.Entries), err)
	}
	if _, err := s.Commit(t.Context(), large(1400<<10)); err != nil {
		t.Errorf("1.4 MiB: %v", err)
	}
}

// A full etcd rejects writes and says how to make room; reading and watching go on, and so does writing when there is
// room.
func TestNoSpace(t *testing.T) {
	server := etcdtest.Start(t, "--quota-backend-bytes=4194304")
	client := raw(t, server.Endpoint)
	s := open(t, etcd.Options{Endpoints: []string{server.Endpoint}})
	value := bytes.Repeat([]byte{'x'}, 1<<20)
	var err error
	var last uint64
	for range 1000 { // etcd measures its file at each commit of the backend, every 100 ms: a fast disk takes many writes
		var sequence uint64
		if sequence, err = s.Commit(t.Context(), registry.Transaction{Put: []registry.Entry{{Key: "k", Value: value}}}); err != nil {
			break
		}
		last = sequence
	}
	// The write that goes beyond the quota is rejected before it is made, or after.
	says(t, err, "compact and defragment", "alarm disarm", "it may have been written")
	public(t, err, "no space left", false, server.Endpoint)
	state, err := s.Load(t.Context())
	if err != nil || state.Sequence != last && state.Sequence != last+1 {
		t.Fatalf("at %d, want %d or the next: %v", state.Sequence, last, err)
	}
	if _, err := client.Compact(t.Context(), int64(state.Sequence), clientv3.WithCompactPhysical()); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Defragment(t.Context(), server.Endpoint); err != nil {
		t.Fatal(err)
	}
	if _, err := client.AlarmDisarm(t.Context(), &clientv3.AlarmMember{}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Commit(t.Context(), put("k", "small")); err != nil {
		t.Error(err)
	}
}

// With authentication, the right user can write, also after its token expired. Others get an error that says what is missing.
func TestUsers(t *testing.T) {
	server := etcdtest.Start(t, "--auth-token-ttl=1", "--bcrypt-cost=4")
	client := raw(t, server.Endpoint)
	must := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(client.RoleAdd(t.Context(), "root"))
	must(client.UserAdd(t.Context(), "root", "root's"))
	must(client.UserGrantRole(t.Context(), "root", "root"))
	must(client.RoleAdd(t.Context(), "writer"))
	must(client.RoleGrantPermission(t.Context(), "writer", "/crdeval/", clientv3.GetPrefixRangeEnd("/crdeval/"), clientv3.PermissionType(clientv3.PermReadWrite)))
	must(client.RoleAdd(t.Context(), "reader"))
	must(client.RoleGrantPermission(t.Context(), "reader", "/crdeval/", clientv3.GetPrefixRangeEnd("/crdeval/"), clientv3.PermissionType(clientv3.PermRead)))
	for _, user := range []string{"writer", "reader"} {
		must(client.UserAdd(t.Context(), user, "secret"))
		must(client.UserGrantRole(t.Context(), user, user))
	}
	must(client.UserAdd(t.Context(), "nobody", "secret"))
	must(client.AuthEnable(t.Context()))

	options := func(user, password string) etcd.Options {
		return etcd.Options{Endpoints: []string{server.Endpoint}, Username: user, Password: password, DialTimeout: patience, Log: slog.New(slog.DiscardHandler)}
	}
	writer := open(t, options("writer", "secret"))
	if _, err := writer.Commit(t.Context(), put("a", "1")); err != nil {
		t.Fatal(err)
	}
	reader := open(t, options("reader", "secret"))
	if state, err := reader.Load(t.Context()); err != nil || len(state.Entries) != 1 {
		t.Errorf("the reader sees %v, %v", state, err)
	}
	_, err := reader.Commit(t.Context(), put("b", "1"))
	says(t, err, `user "reader"`, "grant-permission", "/crdeval/", "nothing was written")
	public(t, err, "lacks the permission", true, server.Endpoint)

	for _, tc := range []struct {
		name, user, password string
		says                 []string
	}{
		{"a wrong password", "writer", "guessed", []string{`check the password of user "writer"`}},
		{"an unknown user", "stranger", "secret", []string{`check the password of user "stranger"`}},
		{"no user", "", "", []string{"--etcd-user"}},
		{"no permission", "nobody", "secret", []string{"grant-permission", "/crdeval/"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := etcd.Open(t.Context(), options(tc.user, tc.password))
			says(t, err, append(tc.says, server.Endpoint)...)
			if strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "guessed") {
				t.Errorf("the password is in the error: %v", err)
			}
		})
	}
	f := follow(t, reader, 0)
	time.Sleep(2500 * time.Millisecond) // tokens expire
	if _, err := writer.Commit(t.Context(), put("late", "1")); err != nil {
		t.Errorf("with an expired token: %v", err)
	}
	for {
		if c := f.next(t); len(c.Put) == 1 && c.Put[0].Key == "late" {
			return
		}
	}
}

func TestTLS(t *testing.T) {
	flags, config := newCertificate(t)
	server := etcdtest.Start(t, append(flags, "--client-cert-auth")...)
	s := open(t, etcd.Options{Endpoints: []string{server.Endpoint}, TLS: config})
	if _, err := s.Commit(t.Context(), put("a", "1")); err != nil {
		t.Error(err)
	}
	address := strings.TrimPrefix(server.Endpoint, "https://")
	if state, err := open(t, etcd.Options{Endpoints: []string{address}, TLS: config}).Load(t.Context()); err != nil || len(state.Entries) != 1 {
		t.Errorf("without a scheme: %v, %v", state, err)
	}
	anonymous, foreign := config.Clone(), config.Clone()
	anonymous.Certificates = nil
	foreign.RootCAs = x509.NewCertPool()
	for _, tc := range []struct {
		name     string
		endpoint string
		tls      *tls.Config
		says     string
	}{
		{"without a certificate", server.Endpoint, anonymous, "TLS on both sides"}, // the rejection comes after the handshake, and may be overtaken by the end
		{"another authority", server.Endpoint, foreign, "signed by unknown authority"},
		{"plain text", "http://" + address, nil, "TLS on both sides"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := unopened(t, etcd.Options{Endpoints: []string{tc.endpoint}, TLS: tc.tls, DialTimeout: time.Second}, tc.says)
			says(t, err, address)
			t.Log(err)
		})
	}
}

func TestOptions(t *testing.T) {
	for _, tc := range []struct {
		name string
		o    etcd.Options
		says string
	}{
		{"no endpoint", etcd.Options{}, "no endpoints"},
		{"an empty one", etcd.Options{Endpoints: []string{""}}, "has no host"},
		{"no host", etcd.Options{Endpoints: []string{"http://"}}, "has no host"},
		{"a scheme of its own", etcd.Options{Endpoints: []string{"ftp://a:1"}}, "must be http or https"},
		{"mixed", etcd.Options{Endpoints: []string{"http://a:1", "https://b:1"}}, "different schemes"},
		{"plain with TLS", etcd.Options{Endpoints: []string{"http://a:1"}, TLS: &tls.Config{MinVersion: tls.VersionTLS13}}, "use https"},
		{"a user without password", etcd.Options{Endpoints: []string{"a:1"}, Username: "u"}, "both user and password"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := etcd.Open(t.Context(), tc.o)
			says(t, err, tc.says)
		})
	}
}
