package etcd

import "strings"

// layout are the keys of one store, all below its prefix:
//
//	PREFIX store       what this is, and its ID (identity.go)
//	PREFIX commit      put by every commit, without a value: its revision is that of the last commit, whatever that changed
//	PREFIX entry/KEY   an entry's value, as it is; its version is the key's ModRevision
//
// etcd counts revisions for all that is in it. With the key "commit" each commit has a revision of its own that the
// store can be asked for, also one that only deletes or changes nothing, while other users of the same etcd come and
// go.
type layout struct {
	prefix                 string // ends with a slash
	store, commit, entries string
}

// DefaultPrefix is where a store's keys are unless it is told otherwise.
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

// entry is the key that etcd has for an entry's.
func (l layout) entry(key string) string { return l.entries + key }

// kind says what a key of etcd is; for an entry also its key.
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
