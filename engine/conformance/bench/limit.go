package bench

import (
	"errors"
	"fmt"
	"os"

	"github.com/crdeval/crdeval/engine/internal/tree"
)

// limit compares the bytes per second of a whole creation with those of a copy, of our parser alone, and of
// simdjson-go's parser in a process of its own, for the same document on one core.
func limit(o Options, name string, obj *object) (line string, err error) {
	us, err := newOurs(obj)
	if err != nil {
		return "", err
	}
	in, err := newInput(obj)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(in.folder)) }()
	running, err := o.startPeers([]peer{simdjson}, in)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, closePeers(running)) }()
	admit := func() error { _, err := us.create(obj.body); return err }
	d := tree.Acquire()
	defer d.Release()
	ours, parsed, err := beside(o, in, running, false, admit, func() error {
		d.Reset()
		_, err := d.ParseJSON(obj.body, tree.Limits{})
		return err
	})
	if err != nil {
		return "", err
	}
	target := make([]byte, len(obj.body))
	const copies = 1000 // one copy takes less time than the call of a side
	copied, _, err := compare(o, func() error {
		for range copies {
			if copy(target, obj.body) != len(obj.body) {
				return errors.New("incomplete copy")
			}
		}
		return nil
	}, admit)
	rate := func(seconds float64) float64 { return float64(len(obj.body)) / 1e6 / seconds }
	return fmt.Sprintf("%s  %d bytes  admit %.0f MB/s  parse %.0f MB/s  simdjson-go %.0f MB/s  copy %.0f MB/s  "+
		"admit takes %.2f times simdjson-go  GOMAXPROCS=1", name, len(obj.body), rate(ours.seconds), rate(parsed.seconds),
		rate(median(running[0].seconds)), rate(copied.seconds/copies), ours.seconds/median(running[0].seconds)), err
}
