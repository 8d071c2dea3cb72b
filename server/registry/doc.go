// Package registry keeps what callers register: catalogs, the CRDs in them, each CRD's revisions and status.
//
// Everything is in memory, as one immutable snapshot behind an atomic pointer: a reader takes the pointer once and has a consistent picture,
// without locks and without touching the store. A write goes to the Store first, which makes it durable, and then becomes the next snapshot, which
// shares all that did not change. A store that others write to as well (a Watcher) is followed: our commits come back among theirs, in the
// order of the store, and all replicas go through the same snapshots. Manifests are kept compressed (about a tenth of their size), so that
// a program evicted from the cache is rebuilt from memory, too.
//
// A revision is the digest of a CRD's canonical manifest; it never changes and is the key of the compiled program in the cache. The current
// revision of a CRD is a pointer with a generation. Equal CRDs of two catalogs share a program. The status of a CRD is kept, not computed: it is
// what an API server's controllers would have come to, by the history of its group.
//
// Where to read next, by what you look for:
//
//	what callers see           model.go, error.go
//	the interface of stores    store.go; memory, bolt and etcd implement it; record.go has the entries
//	a registration             register.go: judge.go, then plan.go in the turn of write.go, with settle.go for the group
//	a commit becomes visible   apply.go makes the next snapshot.go; follow.go for stores that others write to
//	evaluation                 view.go; overlay.go for CRDs that a call brings along
//	consistency                token.go, lists.go
//	watching                   news.go keeps what happened, watch.go tells it
//	what goes when             retention.go
package registry
