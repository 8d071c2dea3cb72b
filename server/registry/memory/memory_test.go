package memory_test

import (
	"testing"

	"github.com/crdeval/crdeval/server/registry"
	"github.com/crdeval/crdeval/server/registry/memory"
	"github.com/crdeval/crdeval/server/registry/storetest"
)

func TestStore(t *testing.T) {
	storetest.Run(t, func(*testing.T) storetest.Fixture {
		return storetest.Fixture{Store: memory.New()}
	})
}

func TestEachStoreHasItsOwnID(t *testing.T) {
	var a, b registry.Store = memory.New(), memory.New()
	if a.ID() == b.ID() {
		t.Errorf("both are %s", a.ID())
	}
}
