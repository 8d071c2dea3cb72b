package metamorphic

import (
	"strings"

	"github.com/crdeval/crdeval/engine/conformance/generate"
	"github.com/crdeval/crdeval/engine/conformance/jsontree"
)

// A configuration is what may differ between two runs of a history. The zero value is the reference.
type configuration struct {
	// Store is memory (the default), bolt or etcd.
	Store string
	// Restart means that the operation restart opens the store again, with a new registry. The reference ignores it.
	Restart bool
	// Transport is empty for calls in the process, grpc or rest.
	Transport string
	// OneEntry limits the cache of compiled CRDs to one.
	OneEntry bool
	// Exact turns the fast path off, NoClosures the closures of rules.
	Exact, NoClosures bool
	// YAML sends documents as YAML if that does not change them.
	YAML bool
	// Inline sends the CRDs with each evaluation, if they do not depend on earlier revisions.
	Inline bool
	// Batch is the number of items of a call: 1, or up to 1,000 by repetition of the items. 0: those of the operation.
	Batch int
	// Stream uses AdmitStream and ReadStream.
	Stream bool
	// Replay reads the events of a watch after they happened, from a token.
	Replay bool
}

const (
	storeMemory = "memory" // an empty Store
	storeBolt   = "bolt"
	storeEtcd   = "etcd"

	transportGRPC = "grpc"
	transportREST = "rest"
)

// maxBatch is the largest batch: ServerLimits.max_batch_items.
const maxBatch = 1000

// configure returns a random configuration, which differs from the reference. store replaces the choice of a store.
func configure(r generate.Rand, store string) configuration {
	for {
		c := configuration{
			Store: generate.Pick(r, []string{"", "", storeBolt}), Restart: r.Chance(50),
			Transport: generate.Pick(r, []string{"", "", transportGRPC, transportREST, transportREST}),
			OneEntry:  r.Chance(40), Exact: r.Chance(35), NoClosures: r.Chance(15), YAML: r.Chance(25), Inline: r.Chance(20),
			Stream: r.Chance(30), Replay: r.Chance(40),
		}
		switch n := r.IntN(200); {
		case n == 0:
			c.Batch = maxBatch
		case n < 10:
			c.Batch = 40
		case n < 80:
			c.Batch = 1
		}
		if store != "" {
			c.Store = strings.TrimPrefix(store, storeMemory)
		}
		if c != (configuration{}) {
			return c
		}
	}
}

// encode returns the JSON of a configuration, without the settings of the reference.
func (c configuration) encode() *jsontree.Node {
	n := jsontree.Obj()
	for _, b := range []struct {
		name string
		on   bool
	}{
		{"restart", c.Restart}, {"oneEntry", c.OneEntry}, {"exact", c.Exact}, {"noClosures", c.NoClosures}, {"yaml", c.YAML},
		{"inline", c.Inline}, {"stream", c.Stream}, {"replay", c.Replay},
	} {
		if b.on {
			n.Set(b.name, true)
		}
	}
	putText(n, "store", c.Store)
	putText(n, "transport", c.Transport)
	putInt(n, "batch", c.Batch)
	return n
}

func decodeConfiguration(n *jsontree.Node) configuration {
	on := func(key string) bool { return n.Get(key).IsTrue() }
	return configuration{
		Store: text(n, "store"), Restart: on("restart"), Transport: text(n, "transport"), OneEntry: on("oneEntry"),
		Exact: on("exact"), NoClosures: on("noClosures"), YAML: on("yaml"), Inline: on("inline"),
		Batch: number(n, "batch"), Stream: on("stream"), Replay: on("replay"),
	}
}
