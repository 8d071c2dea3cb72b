package registry

import (
	"strings"
	"testing"
)

func TestPackedManifests(t *testing.T) {
	for _, manifest := range []string{"", "{}", strings.Repeat(`{"description":"a string"}`, 10_000)} {
		p := pack([]byte(manifest))
		if got, err := p.unpack(); string(got) != manifest || err != nil || p.size() != len(manifest) {
			t.Errorf("%d bytes came back as %d, %v", len(manifest), len(got), err)
		}
		if _, err := p[:len(p)/2].unpack(); err == nil && len(manifest) > 2 {
			t.Errorf("half of %d bytes unpack", len(p))
		}
	}
}
