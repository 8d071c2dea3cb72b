package access

import (
	"strings"
	"testing"
)

func TestParsePolicyRejects(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"empty":            {"", "bindings is missing"},
		"a comment":        {"# nothing\n", "bindings is missing"},
		"only quotas":      {"quotas: [{catalogs: ['*'], crds: 1}]", "bindings is missing"},
		"unknown field":    {"bindings: []\nbinding: []", "binding"},
		"unknown in entry": {"bindings: [{role: reader, catalogs: ['*'], user: [a]}]", "user"},
		"duplicate field":  {"bindings: []\nbindings: []", "already defined"},
		"two documents":    {"bindings: []\n---\nbindings: []", "more than one document"},
		"unknown role":     {"bindings: [{role: root, catalogs: ['*'], users: [a]}]", `bindings[0].role: "root" is not a role`},
		"no role":          {"bindings: [{catalogs: ['*'], users: [a]}]", "bindings[0].role"},
		"no catalogs":      {"bindings: [{role: reader, users: [a]}]", "bindings[0].catalogs: the list is empty"},
		"no subjects":      {"bindings: [{role: reader, catalogs: ['*']}]", "neither users nor groups"},
		"an empty user":    {"bindings: [{role: reader, catalogs: ['*'], users: ['']}]", "bindings[0].users: a name is empty"},
		"a quota of 0":     {"bindings: []\nquotas: [{catalogs: ['*'], crds: 0}]", "quotas[0].crds: 0 is less than 1"},
		"a negative quota": {"bindings: []\nquotas: [{catalogs: ['*'], watches: -1}]", "quotas[0].watches"},
		"no quota":         {"bindings: []\nquotas: [{catalogs: ['*']}]", "the entry has no quota"},
		"a wrong size":     {"bindings: []\nquotas: [{catalogs: ['*'], bytes: many}]", "not a size"},
		"not a mapping":    {"- a", "cannot unmarshal"},
	} {
		if _, err := parsePolicy([]byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestPolicyPermissions(t *testing.T) {
	p, err := parsePolicy([]byte(`
bindings:
- {role: reader, catalogs: [default, "team-*"], users: [alice], groups: [devs]}
- {role: registrar, catalogs: [team-a], users: ["ci-*", "system:serviceaccount:ci:*"]}
- {role: evaluator, catalogs: ["*"], groups: ["system:authenticated"]}
- {role: admin, catalogs: ["*-sandbox-*"], users: ["*"]}
`))
	if err != nil {
		t.Fatal(err)
	}
	user := func(name string, groups ...string) Identity {
		return Identity{Name: name, Groups: groups, Source: FromToken}
	}
	const all = Read | Evaluate | Register | Administer
	for _, c := range []struct {
		id      Identity
		catalog string
		want    Permission
	}{
		{user("alice"), "default", Read},
		{user("alice"), "team-", Read},
		{user("alice"), "team", 0},
		{user("Alice"), "default", 0},
		{user("bob", "devs"), "team-b", Read},
		{user("bob", "dev"), "team-b", 0},
		{user("ci-1"), "team-a", Read | Register},
		{user("ci-1"), "team-b", 0},
		{user("system:serviceaccount:ci:robot"), "team-a", Read | Register},
		{user("system:serviceaccount:other:robot"), "team-a", 0},
		{authenticated("carol", nil, FromJWT), "x", Read | Evaluate},
		{authenticated("alice", nil, FromJWT), "default", Read | Evaluate},
		{user("carol"), "a-sandbox-b", all},
		{user("carol"), "a-sandbox", 0},
		{anonymous, "a-sandbox-b", 0},
		{anonymous, "default", 0},
	} {
		if got := p.permissions(c.id, c.catalog); got != c.want {
			t.Errorf("%v in %s: %b, want %b", c.id, c.catalog, got, c.want)
		}
	}
	if p.bindsAnonymous() {
		t.Error("a '*' binds anonymous callers")
	}
	if p, _ := parsePolicy([]byte("bindings: [{role: reader, catalogs: [a], groups: ['system:*']}]")); !p.bindsAnonymous() {
		t.Error("'system:*' does not bind anonymous callers")
	}
}

func TestPolicyQuota(t *testing.T) {
	p, err := parsePolicy([]byte(`
bindings: []
quotas:
- {catalogs: [big, "big-*"], crds: 1000, watches: 50}
- {catalogs: ["*"], crds: 10, bytes: 64MiB, revisions: 20}
`))
	if err != nil {
		t.Fatal(err)
	}
	for catalog, want := range map[string]Quota{
		"big": {CRDs: 1000, Watches: 50}, "big-1": {CRDs: 1000, Watches: 50}, "default": {CRDs: 10, Bytes: 64 << 20, Revisions: 20},
	} {
		if got := p.quota(catalog); got != want {
			t.Errorf("%s: %+v", catalog, got)
		}
	}
}

func TestMatches(t *testing.T) {
	for _, c := range []struct {
		glob, name string
		want       bool
	}{
		{"a", "a", true}, {"a", "ab", false}, {"*", "", true}, {"a*", "a", true}, {"a*a", "a", false}, {"a*a", "aa", true},
		{"*a*b*", "xxaxxbxx", true}, {"*a*b*", "xxbxxa", false}, {"a**b", "ab", true}, {"a?", "ab", false}, {"*-b", "a-b-b", true},
	} {
		if matches(c.glob, c.name) != c.want {
			t.Errorf("%q and %q: not %v", c.glob, c.name, c.want)
		}
	}
}
