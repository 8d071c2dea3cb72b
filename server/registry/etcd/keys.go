package etcd

import "strings"

// layout has the keys of a store:
//
//	PREFIX store       format and ID of the store (identity.go)
//	PREFIX commit      empty; every commit puts it, so its ModRevision is the revision of the last commit
//	PREFIX entry/KEY   the value of an entry, whose version is the ModRevision
//
// Revisions count all writes to etcd. The key "commit" gives each commit a revision that can be read, even if the commit only
// deletes entries.
type layout struct {
	prefix                 string // ends with a slash
	store, commit, entries string
}

// DefaultPrefix is the default of Options.Prefix.
const DefaultPrefix = "/crdeval/"

func newLayout(prefix string) layout {
	if prefix == "" {
		prefix = DefaultPrefix
	}
	if !strings.HasSuffix(prefix, "/") {
		prefix += "/"
	}
	return layout{prefix: prefix, store: prefix + "store", commit: prefix + "commit", entries: prefix + "entry/"}
}

// entry returns the key in etcd of an entry.
func (l layout) entry(key string) string { return l.entries + key }

// kind returns the kind of a key in etcd, and the key of an entry.
func (l layout) kind(key []byte) (kind keyKind, entry string) {
	switch k := string(key); {
	case k == l.store:
		return storeKey, ""
	case k == l.commit:
		return commitKey, ""
	case strings.HasPrefix(k, l.entries) && len(k) > len(l.entries):
		return entryKey, k[len(l.entries):]
	}
	return foreignKey, ""
}

type keyKind int

const (
	foreignKey keyKind = iota
	storeKey
	commitKey
	entryKey
)
