package bench

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// peerInput is an object and its CRD in the files that peers read. Both folders contain one file.
type peerInput struct {
	folder, schemas, crds string
	object, faulty        string
}

// newInput writes the files of an object into a temporary folder. The caller removes it.
func newInput(o *object) (in peerInput, err error) {
	if in.folder, err = os.MkdirTemp("", "crdeval-peers-"); err != nil {
		return in, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(in.folder))
		}
	}()
	v, err := o.version()
	if err != nil {
		return in, err
	}
	schema, err := jsonSchema(o.text, v.Name)
	if err != nil {
		return in, err
	}
	in.schemas, in.crds = filepath.Join(in.folder, "schemas"), filepath.Join(in.folder, "crds")
	in.object, in.faulty = filepath.Join(in.folder, "object.json"), filepath.Join(in.folder, "faulty.json")
	name := strings.ToLower(o.crd.Spec.Names.Kind) + "_" + v.Name + ".json"
	return in, errors.Join(os.Mkdir(in.schemas, 0o755), os.Mkdir(in.crds, 0o755),
		os.WriteFile(filepath.Join(in.schemas, name), schema, 0o600),
		os.WriteFile(filepath.Join(in.crds, "crd.json"), o.text, 0o600),
		os.WriteFile(in.object, o.body, 0o600), os.WriteFile(in.faulty, o.faulty, 0o600))
}

// runningPeer is a peer that has judged an object.
type runningPeer struct {
	peer
	process *peerProcess
	n       int // validations in a turn
	seconds []float64
}

// startPeers installs and starts peers.
func (o Options) startPeers(peers []peer, in peerInput) (list []*runningPeer, err error) {
	d, err := newDirectories()
	if err != nil {
		return nil, err
	}
	for _, p := range peers {
		if err := o.installPeer(d, p); err != nil {
			return nil, errors.Join(err, closePeers(list))
		}
		process, err := startPeer(p.command(d, in.schemas, in.crds))
		if err != nil {
			return nil, errors.Join(fmt.Errorf("the peer %s does not start: %w", p.name, err), closePeers(list))
		}
		list = append(list, &runningPeer{peer: p, process: process})
	}
	return list, nil
}

func closePeers(list []*runningPeer) (err error) {
	for _, p := range list {
		err = errors.Join(err, p.process.close())
	}
	return err
}

// contest has the sides that judge an object: ours, upstream, and the selected peers in their own processes.
type contest struct {
	us    *ours
	them  *upstream
	in    peerInput
	peers []*runningPeer
}

// newContest prepares the sides for an object. The caller closes it.
func (o Options) newContest(obj *object) (c contest, err error) {
	peers, err := o.selected()
	if err != nil {
		return c, err
	}
	if c.us, err = newOurs(obj); err != nil {
		return c, err
	}
	if c.them, err = newUpstream(obj); err != nil {
		return c, err
	}
	if c.in, err = newInput(obj); err != nil {
		return c, err
	}
	if c.peers, err = o.startPeers(peers, c.in); err != nil {
		err = errors.Join(err, os.RemoveAll(c.in.folder))
	}
	return c, err
}

// close ends the peers and removes their files.
func (c contest) close() error { return errors.Join(closePeers(c.peers), os.RemoveAll(c.in.folder)) }

// prepare checks the verdicts on both objects, and finds out how many validations fit into a turn.
func (p *runningPeer) prepare(o Options, in peerInput, findsFaults bool) error {
	valid, _, err := p.process.judge(in.faulty)
	if err == nil && valid && findsFaults {
		err = errors.New("it accepts the faulty object")
	}
	if err == nil {
		var reason string
		if valid, reason, err = p.process.judge(in.object); err == nil && !valid {
			err = fmt.Errorf("it rejects the object: %s", reason)
		}
	}
	if err == nil {
		p.n, err = p.process.fitting(o.Turn)
	}
	return p.named(err)
}

func (p *runningPeer) turn() error {
	seconds, err := p.process.run(p.n)
	p.seconds = append(p.seconds, seconds/float64(p.n))
	return p.named(err)
}

func (p *runningPeer) named(err error) error {
	if err != nil {
		return fmt.Errorf("the peer %s: %w", p.name, err)
	}
	return nil
}

// beside compares our creation of an object with upstream's or another side, and with peers in their own processes.
// All take turns in one run.
func beside(o Options, in peerInput, peers []*runningPeer, findFaults bool, ours, other side) (a, b figure, err error) {
	for _, p := range peers {
		if err := p.prepare(o, in, findFaults); err != nil {
			return a, b, err
		}
	}
	one := o
	one.Rounds = 1
	var us, them []float64
	for range o.Rounds {
		if a, b, err = compare(one, ours, other); err != nil {
			return a, b, err
		}
		us, them = append(us, a.seconds), append(them, b.seconds)
		for _, p := range peers {
			if err := p.turn(); err != nil {
				return a, b, err
			}
		}
	}
	a.seconds, b.seconds = median(us), median(them)
	return a, b, nil
}

// validated compares the CPU time of one validated object, from its bytes, on one core. Ours is a whole creation, with
// defaults, pruning and the new bytes. Upstream is the API server's library in this process. .tools/peers documents
// what the others do.
func validated(o Options, name string, obj *object) (line string, err error) {
	c, err := o.newContest(obj)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	for _, faulty := range []func() error{
		func() error { _, err := c.us.create(obj.faulty); return err },
		func() error { _, err := c.them.create(obj.faulty); return err },
	} {
		if faulty() == nil {
			return "", errors.New("the faulty object is accepted")
		}
	}
	ours, upstream, err := beside(o, c.in, c.peers, true,
		func() error { _, err := c.us.create(obj.body); return err },
		func() error { _, err := c.them.create(obj.body); return err })
	const about = "JSON parser, pruning, defaults, schema, CEL"
	lines := []string{peerLine(name, "upstream", ours.seconds, upstream.seconds, about)}
	for _, p := range c.peers {
		lines = append(lines, peerLine(name, p.name, ours.seconds, median(p.seconds), p.about))
	}
	return strings.Join(lines, "\n"), err
}

func peerLine(name, peer string, ours, theirs float64, about string) string {
	return fmt.Sprintf("%s/%s  ours %s ms  %s %s ms  ratio %s  (%s)  GOMAXPROCS=1", name, peer,
		milliseconds(ours), peer, milliseconds(theirs), times(theirs/ours), about)
}
