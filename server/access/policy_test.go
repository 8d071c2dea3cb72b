package access

import (
	"strings"
	"testing"
)

func TestParsePolicyRejects(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"empty":            {"", "line 1: bindings: the field is missing: add bindings"},
		"a comment":        {"# nothing\n", "line 1: bindings: the field is missing"},
		"null":             {"bindings:\n", "line 1: bindings: the field is missing"},
		"only quotas":      {"quotas: [{catalogs: ['*'], crds: 1}]", "line 1: bindings: the field is missing"},
		"unknown field":    {"bindings: []\nbinding: []", "line 2: binding: unknown field: use bindings, quotas"},
		"unknown in entry": {"bindings:\n- role: reader\n  catalogs: ['*']\n  user: [a]\n  groups: [a]", "line 4: bindings[0].user: unknown field: use role, catalogs, users, groups"},
		"unknown in quota": {"bindings: []\nquotas:\n- {catalogs: ['*'], crd: 1}", "line 3: quotas[0].crd: unknown field: use catalogs, crds, bytes, revisions, watches"},
		"duplicate field":  {"bindings: []\nbindings: []", "line 2: bindings: the field is set twice"},
		"two documents":    {"bindings: []\n---\nbindings: []", "line 2: the file has more than one document"},
		"a syntax error":   {"bindings: []\na: b: c", "line 2: "},
		"unknown role":     {"bindings:\n- role: root\n  catalogs: ['*']\n  users: [a]", `line 2: bindings[0].role: "root" is not a role: use one of reader, evaluator, registrar, admin`},
		"no role":          {"bindings: [{catalogs: ['*'], users: [a]}]", "line 1: bindings[0].role: the field is missing: use one of reader,"},
		"no catalogs":      {"bindings: [{role: reader, users: [a]}]", "line 1: bindings[0].catalogs: the field is missing: list names"},
		"empty catalogs":   {"bindings: [{role: reader, users: [a], catalogs: []}]", "line 1: bindings[0].catalogs: the list is empty"},
		"catalogs as text": {"bindings: [{role: reader, users: [a], catalogs: a}]", "line 1: bindings[0].catalogs: the value is not a list"},
		"no subjects":      {"bindings: [{role: reader, catalogs: ['*']}]", "line 1: bindings[0]: the binding has neither users nor groups"},
		"an empty user":    {"bindings:\n- role: reader\n  catalogs: ['*']\n  users: [a,\n   '']", "line 5: bindings[0].users[1]: the value is not a name"},
		"a quota of 0":     {"bindings: []\nquotas: [{catalogs: ['*'], crds: 0}]", `line 2: quotas[0].crds: "0" is not a number of at least 1`},
		"a negative quota": {"bindings: []\nquotas: [{catalogs: ['*'], watches: -1}]", "line 2: quotas[0].watches: "},
		"a quota of text":  {"bindings: []\nquotas: [{catalogs: ['*'], watches: many}]", `line 2: quotas[0].watches: "many" is not a number`},
		"no quota":         {"bindings: []\nquotas: [{catalogs: ['*']}]", "line 2: quotas[0]: the entry has no quota"},
		"a wrong size":     {"bindings: []\nquotas: [{catalogs: ['*'], bytes: many}]", `line 2: quotas[0].bytes: "many" is not a size`},
		"a size of 0":      {"bindings: []\nquotas: [{catalogs: ['*'], bytes: 0}]", `line 2: quotas[0].bytes: "0" is less than 1`},
		"not a mapping":    {"- a", "line 1: the value is not a mapping: use the fields bindings, quotas"},
		"text in a list":   {"bindings: [a]", "line 1: bindings[0]: the value is not a mapping: use the fields role, catalogs, users, groups"},
	} {
		if _, err := parsePolicy([]byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) || strings.Count(err.Error(), "\n") > 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	const shared = "bindings: [{role: reader, catalogs: &all ['*'], users: [1]}, {role: admin, catalogs: *all, users: [b]}]"
	if p, err := parsePolicy([]byte(shared)); err != nil || p.permissions(Identity{Name: "b"}, "x")&Administers == 0 || p.permissions(Identity{Name: "1"}, "x") != Reads {
		t.Errorf("an alias: %v", err)
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
	const all = Reads | Evaluates | Registers | Administers
	for _, c := range []struct {
		id      Identity
		catalog string
		want    Permission
	}{
		{user("alice"), "default", Reads},
		{user("alice"), "team-", Reads},
		{user("alice"), "team", 0},
		{user("Alice"), "default", 0},
		{user("bob", "devs"), "team-b", Reads},
		{user("bob", "dev"), "team-b", 0},
		{user("ci-1"), "team-a", Reads | Registers},
		{user("ci-1"), "team-b", 0},
		{user("system:serviceaccount:ci:robot"), "team-a", Reads | Registers},
		{user("system:serviceaccount:other:robot"), "team-a", 0},
		{authenticated("carol", nil, FromJWT), "x", Reads | Evaluates},
		{authenticated("alice", nil, FromJWT), "default", Reads | Evaluates},
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
