package bolt_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/crdeval/crdeval/engine/testenv"
	"github.com/crdeval/crdeval/server/registry/bolt"
)

// sector is what a disk writes as a whole.
const sector = 512

// change is a step with what it wrote.
type change struct {
	step
	data []byte
}

// apply makes a change to a file's contents, or as much of it as torn says.
func (c change) apply(file []byte, torn func(sector int) bool) []byte {
	switch c.kind {
	case "truncate":
		if int(c.offset) > len(file) {
			file = append(file, make([]byte, int(c.offset)-len(file))...)
		}
		return file[:c.offset]
	case "write":
		if end := int(c.offset) + len(c.data); end > len(file) {
			file = append(file, make([]byte, end-len(file))...)
		}
		for from := 0; from < len(c.data); from += sector {
			if to := min(from+sector, len(c.data)); torn == nil || !torn(from/sector) {
				copy(file[int(c.offset)+from:], c.data[from:to])
			}
		}
	}
	return file
}

// journal reads what a child kept of its steps.
func journal(path string, steps []step) ([]change, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var all []change
	for _, s := range steps {
		if len(content) == 0 {
			return nil, io.ErrUnexpectedEOF
		}
		n := int(content[0])
		kind, rest := string(content[1:1+n]), content[1+n:]
		size := int(binary.BigEndian.Uint64(rest[8:]))
		if kind != s.kind || int64(size) != s.size {
			return nil, fmt.Errorf("step %d: the journal has %s of %d bytes, the child reported %s of %d", s.number, kind, size, s.kind, s.size)
		}
		all = append(all, change{s, rest[16 : 16+size]})
		content = rest[16+size:]
	}
	return all, nil
}

// A machine that loses power keeps what was synced, and of what was written since then any part: some writes and not
// others, in any order, torn between sectors. Whatever it keeps, what was acknowledged is there, and what was not is
// whole or absent.
func TestPowerLoss(t *testing.T) {
	testenv.E2E(t)
	binary := faultBuild(t)
	want := states(t)
	dir := t.TempDir()
	record := filepath.Join(dir, "journal")
	steps, acked, killed, err := child(t.Context(), binary, filepath.Join(dir, "data"), "", record)
	if err != nil || killed || acked != len(script) {
		t.Fatalf("%d writes, killed %v, %v", acked, killed, err)
	}
	changes, err := journal(record, steps)
	if err != nil {
		t.Fatal(err)
	}
	var (
		durable []byte   // what no loss of power takes
		pending []change // what one may
		linked  bool     // the file has its name
		images  int
		losses  int
	)
	random := rand.New(rand.NewPCG(1, 2))
	lose := func(acked int) {
		losses++
		for _, kept := range survivors(random, len(pending)) {
			file := slices.Clone(durable)
			for _, i := range kept.order {
				file = pending[i].apply(file, kept.torn)
			}
			images++
			if err := afterLoss(t, file, linked, acked, want); err != nil {
				t.Fatalf("power lost before step %d, with %d of %d writes since the last sync: %v", losses, len(kept.order), len(pending), err)
			}
		}
	}
	for _, c := range changes {
		switch c.kind {
		case "write", "truncate":
			pending = append(pending, c)
		case "sync", "datasync":
			lose(c.acked)
			for _, p := range pending {
				durable = p.apply(durable, nil)
			}
			pending = nil
			lose(c.acked)
		case "link":
			if len(pending) > 0 {
				t.Errorf("the file has its name before %d writes are synced", len(pending))
			}
			linked = true
		}
	}
	lose(len(script))
	if losses < 40 || !linked {
		t.Errorf("%d losses of power, linked: %v", losses, linked)
	}
	t.Logf("power lost at %d moments, %d different contents of the file: all acknowledged writes are there, the others whole or absent", losses, images)
}

// survivor is what is left of n writes: those in order, torn where torn says so.
type survivor struct {
	order []int
	torn  func(int) bool
}

func survivors(random *rand.Rand, n int) []survivor {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	out := []survivor{{}, {order: all}}
	if n == 0 {
		return out[:1]
	}
	for i := range all {
		out = append(out, survivor{order: all[i : i+1]}, survivor{order: slices.Delete(slices.Clone(all), i, i+1)})
	}
	for range 12 {
		some := slices.DeleteFunc(slices.Clone(all), func(int) bool { return random.IntN(3) == 0 })
		out = append(out, survivor{order: some, torn: func(int) bool { return random.IntN(2) == 0 }})
	}
	return out
}

// afterLoss opens what a loss of power left. A file that has its name has all that was synced before.
func afterLoss(t *testing.T, file []byte, linked bool, acked int, want []string) error {
	dir, err := os.MkdirTemp("", "crdeval-power-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, bolt.FileName)
	if !linked {
		path += ".new-1234"
	}
	if err := os.WriteFile(path, file, 0o600); err != nil {
		return err
	}
	store, err := bolt.Open(dir)
	if err != nil {
		return err
	}
	defer func() { _ = store.Close() }()
	r, closeAll, err := scripted(t.Context(), store)
	if err != nil {
		return err
	}
	defer closeAll()
	got, err := picture(t.Context(), r)
	if err != nil {
		return err
	}
	if got != want[acked] && (acked == len(script) || got != want[acked+1]) {
		return errors.New("there is\n" + got + "want\n" + want[acked] + "or what one more makes of it")
	}
	return nil
}
