package metamorphic

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/crdeval/crdeval/engine/conformance/jsontree"
)

const (
	// catalog is the catalog of a history. It always exists.
	catalog = "default"
	// bareCatalog is an empty one, for evaluations with inline CRDs.
	bareCatalog = "bare"
)

// patience bounds a run of a history. Only a server that hangs exceeds it.
const patience = 5 * time.Minute

// player runs one history.
type player struct {
	*observer
	*installation
	client *client
	clock  time.Time

	last    string             // the token of the last write
	done    map[int]registered // by ID of the operation
	current []current
	watches []*watch
	marks   int
	isNew   map[string]string // by manifest: its revision in the bare catalog, empty if that rejects it
}

// current is a CRD that is registered, in the order of first registrations.
type current struct {
	name, revision string
	manifest       *jsontree.Node
}

// play runs a history in a configuration, for a comparison with the configuration to. The error says that the service
// does not work at all.
func play(s *server, d *disk, c, to configuration, h history) ([]observation, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	place, err := d.create(c.Store)
	if err != nil {
		return nil, err
	}
	defer place.remove()
	p := &player{
		observer: newObserver(to), client: newClient(s.conn(c.Transport), c),
		done: map[int]registered{}, isNew: map[string]string{},
		clock: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
	}
	p.installation = &installation{server: s, config: c, contents: place, now: func() time.Time { return p.clock }}
	s.rest.yaml = c.YAML
	if err := p.open(ctx); err != nil {
		return nil, fmt.Errorf("open: %w", err)
	}
	if err := p.client.createCatalog(ctx, bareCatalog); err != nil {
		return nil, fmt.Errorf("create a catalog: %w", err)
	}
	for i := range h {
		p.clock = p.clock.Add(time.Second)
		if err := p.step(ctx, i, &h[i]); err != nil {
			return nil, fmt.Errorf("operation %d: %w", i, err)
		}
	}
	p.endWatches(ctx, len(h))
	return p.all, p.close(ctx)
}

// step runs an operation and records what the client receives.
func (p *player) step(ctx context.Context, at int, o *operation) error {
	switch o.Do {
	case doRegister:
		for _, manifest := range o.Manifests {
			m, r, err := p.client.register(ctx, manifest)
			p.add(at, "register", m, err)
			p.keep(o, manifest, r)
		}
	case doRegisterAll:
		m, all, err := p.client.registerAll(ctx, o.Manifests)
		p.add(at, "registerAll", m, err)
		for i, r := range all {
			p.keep(o, o.Manifests[i], r)
		}
	case doDelete:
		m, token, err := p.client.delete(ctx, o.CRD)
		p.add(at, "delete", m, err)
		p.wrote(o, registered{token: token})
		for i := range p.current {
			if p.current[i].name == o.CRD && err == nil {
				p.current = append(p.current[:i:i], p.current[i+1:]...)
				break
			}
		}
	case doVersions:
		m, token, err := p.client.setStoredVersions(ctx, o.CRD, o.Versions)
		p.add(at, "setStoredVersions", m, err)
		p.wrote(o, registered{token: token})
	case doGet:
		m, err := p.client.get(ctx, o.CRD, p.done[o.Of].revision, p.last)
		p.add(at, "get", m, err)
	case doList:
		m, _, err := p.client.list(ctx, p.last)
		p.add(at, "list", m, err)
	case doEvaluate:
		return p.evaluate(ctx, at, o)
	case doWatch:
		p.beginWatch(ctx, at, o)
	case doRestart:
		p.endWatches(ctx, at)
		if !p.config.Restart {
			return nil
		}
		if err := p.close(ctx); err != nil {
			return err
		}
		return p.open(ctx)
	}
	return nil
}

// keep notes a registration.
func (p *player) keep(o *operation, manifest *jsontree.Node, r registered) {
	p.wrote(o, r)
	if !r.accepted {
		return
	}
	for i := range p.current {
		if p.current[i].name == r.name {
			p.current[i].revision, p.current[i].manifest = r.revision, manifest
			return
		}
	}
	p.current = append(p.current, current{r.name, r.revision, manifest})
}

// wrote notes the outcome of a write for later operations.
func (p *player) wrote(o *operation, r registered) {
	if r.token != "" {
		p.last = r.token
	}
	if o.ID != 0 {
		p.done[o.ID] = r
	}
}

// evaluate evaluates the items in batches of the configured size.
func (p *player) evaluate(ctx context.Context, at int, o *operation) error {
	e := evaluation{
		call: o.Call, validation: o.Validation, target: o.Target, atLeast: p.last, catalog: catalog,
		stream: p.config.Stream && (o.Call == callAdmit || o.Call == callRead),
	}
	var items []evaluated
	older := false
	for i := range o.Items {
		revision := p.done[o.Items[i].Of].revision
		older = older || revision != ""
		items = append(items, evaluated{&o.Items[i], revision})
	}
	if p.config.Inline && !older && (!e.stream || p.config.Transport != transportREST) {
		inline, err := p.inline(ctx)
		if err != nil {
			return err
		}
		if inline != nil {
			e.catalog, e.inline = bareCatalog, inline
		}
	}
	size := len(items)
	if p.config.Batch == 1 {
		size = 1
	}
	for first := 0; first < len(items); first += size {
		part := items[first:min(first+size, len(items))]
		p.evaluateBatch(ctx, at, e, first, part)
	}
	return nil
}

// evaluateBatch evaluates items with one call, and repeats them up to the configured size. All results of an item are
// equal.
func (p *player) evaluateBatch(ctx context.Context, at int, e evaluation, first int, part []evaluated) {
	rounds := max(1, p.config.Batch/len(part))
	for range rounds {
		e.items = append(e.items, part...)
	}
	results, err := p.client.evaluate(ctx, &e)
	for i := range part {
		label := fmt.Sprintf("%s item %d", e.call, first+i)
		if err == nil && len(results) != len(e.items) {
			err = fmt.Errorf("%d results for %d items", len(results), len(e.items))
		}
		if err != nil {
			p.add(at, label, nil, err)
			continue
		}
		shown := results[i]
		for round := range rounds {
			if other := results[round*len(part)+i]; !proto.Equal(shown, other) {
				shown = other
				break
			}
		}
		if p.exact && part[i].Subresource == "status" {
			shown = withoutRatcheted(shown)
		}
		p.add(at, label, shown, nil)
	}
}

// inline returns the registered CRDs if they have the same meaning as inline CRDs: a catalog without CRDs accepts them,
// and they have their names.
func (p *player) inline(ctx context.Context) ([]*jsontree.Node, error) {
	if _, undisputed, err := p.client.list(ctx, p.last); !undisputed {
		return nil, err
	}
	var all []*jsontree.Node
	for _, c := range p.current {
		key := c.manifest.String()
		revision, known := p.isNew[key]
		if !known {
			var err error
			if revision, err = p.client.isNew(ctx, c.manifest); err != nil {
				return nil, err
			}
			p.isNew[key] = revision
		}
		if revision != c.revision {
			return nil, nil
		}
		all = append(all, c.manifest)
	}
	return all, nil
}
