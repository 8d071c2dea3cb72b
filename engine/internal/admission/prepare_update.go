package admission

import (
	"slices"
	"strconv"

	"github.com/crdeval/crdeval/engine/value"
)

// prepareUpdate changes the new object before validation: it takes the old status if status is a subresource, restores
// immutable metadata, and increments the generation if anything but metadata changes.
//
// Upstream: registry/customresource/strategy.go, PrepareForUpdate; registry/rest/update.go, BeforeUpdate.
func (p *pass) prepareUpdate(v *Version) {
	if v.HasStatus {
		p.keepStatus()
	}
	p.prepareUpdateMetadata()
	if !p.sameContent() {
		p.countUp(p.d.Field(p.old.root, "metadata"))
	}
}

// prepareUpdateMetadata restores immutable metadata. It does not allocate.
func (p *pass) prepareUpdateMetadata() {
	d, old := p.d, p.d.Field(p.old.root, "metadata")
	p.take(old, "generation")
	meta := p.metadata()
	if d.Field(meta, "uid") == 0 {
		p.take(old, "uid")
	}
	for _, key := range [...]string{"creationTimestamp", "deletionTimestamp"} {
		if d.Field(old, key) != 0 {
			p.take(old, key)
		}
	}
	const grace = "deletionGracePeriodSeconds"
	if d.Field(meta, grace) == 0 {
		p.take(old, grace)
	}
}

// take copies a field of the old metadata, or removes the field if the old metadata has none.
func (p *pass) take(old uint32, key string) {
	d := p.d
	meta := p.metadata()
	c, from := d.Field(meta, key), d.Field(old, key)
	switch {
	case from != 0:
		p.put(meta, c, key, p.copyOf(from))
	case c != 0:
		p.remove(meta, key)
	}
}

// copyOf returns a copy of a node with the same children, not linked to a parent.
func (p *pass) copyOf(node uint32) uint32 {
	made := uint32(len(p.d.Nodes))
	p.d.Nodes = append(p.d.Nodes, p.d.Nodes[node])
	p.d.Nodes[made].Next = 0
	return made
}

// countUp sets the generation to that of the old object plus one.
func (p *pass) countUp(old uint32) {
	d := p.d
	generation := int64(0)
	if c := d.Field(old, "generation"); c != 0 && d.Nodes[c].Kind == value.Int {
		generation = d.Int(c)
	}
	meta := p.metadata()
	if generation++; generation == 0 { // zero is printed as absent
		p.remove(meta, "generation")
		return
	}
	off := uint32(len(d.Src[value.Arena]))
	d.Src[value.Arena] = strconv.AppendInt(d.Src[value.Arena], generation, 10)
	made := uint32(len(d.Nodes))
	d.Nodes = append(d.Nodes, value.Node{Kind: value.Int, Src: value.Arena, Off: off,
		End: uint32(len(d.Src[value.Arena])), Val: uint64(generation)})
	p.put(meta, d.Field(meta, "generation"), "generation", made)
}

// sameContent compares the two objects without their metadata.
func (p *pass) sameContent() bool {
	d := p.d
	members := func(root uint32) int {
		if d.Field(root, "metadata") != 0 {
			return d.Len(root) - 1
		}
		return d.Len(root)
	}
	if members(p.root) != members(p.old.root) {
		return false
	}
	old := d.Finder()
	for c := d.Nodes[p.root].First; c != 0; c = d.Nodes[c].Next {
		key := d.Key(c)
		if key == "metadata" {
			continue
		}
		o := old.Field(p.old.root, key)
		if o == 0 {
			return false
		}
		if kept := d.Nodes[c].First != 0 && d.Nodes[c].First == d.Nodes[o].First; !kept && !value.Equal(d, c, d, o) {
			return false
		}
	}
	return true
}

// keepStatus replaces the status of the new object by that of the old one.
func (p *pass) keepStatus() {
	d := p.d
	p.old.copies = uint32(len(d.Nodes))
	c, old := d.Field(p.root, "status"), d.Field(p.old.root, "status")
	switch {
	case old == 0:
		p.drop(p.root, c)
	case c == 0:
		d.Append(p.root, p.copyOf(old))
	default:
		made := p.copyOf(old)
		p.exchange(p.root, c, made)
	}
	p.old.end = uint32(len(d.Nodes))
	d.MarkDirty(p.root)
	p.out.Defaulted = slices.DeleteFunc(p.out.Defaulted, isStatus)
}

func isStatus(c Change) bool { return len(c.Path) > 0 && c.Path[0] == value.Name("status") }

// exchange replaces a member by a node.
func (p *pass) exchange(parent, member, made uint32) {
	d := p.d
	d.Nodes[made].Next = d.Nodes[member].Next
	if d.Nodes[parent].First == member {
		d.Nodes[parent].First = made
		return
	}
	for c := d.Nodes[parent].First; c != 0; c = d.Nodes[c].Next {
		if d.Nodes[c].Next == member {
			d.Nodes[c].Next = made
			return
		}
	}
}

// drop removes a member. 0 is ignored.
func (p *pass) drop(parent, member uint32) {
	prev := uint32(0)
	for c := p.d.Nodes[parent].First; c != 0 && member != 0; c = p.d.Nodes[c].Next {
		if c == member {
			p.d.Remove(parent, prev, c)
			return
		}
		prev = c
	}
}

// prepareStatus makes the new object from the old one, with the status and the managed fields of the request.
//
// Upstream: registry/customresource/status_strategy.go, PrepareForUpdate.
func (p *pass) prepareStatus() {
	d := p.d
	status, sent := d.Field(p.root, "status"), d.Field(p.root, "metadata")
	managed := d.Field(sent, "managedFields")
	p.old.copies = uint32(len(d.Nodes))
	root := p.clone(p.old.root)
	if meta := d.Field(root, "metadata"); meta != 0 {
		p.exchange(root, meta, p.clone(meta))
	}
	if status != 0 {
		status = p.copyOf(status)
		p.old.taken = status
	}
	p.substitute(root, "status", status)
	if managed != 0 {
		managed = p.copyOf(managed)
	}
	p.substitute(d.Field(root, "metadata"), "managedFields", managed)
	if read := d.Field(sent, "resourceVersion"); read != 0 &&
		d.Field(d.Field(root, "metadata"), "resourceVersion") == 0 {
		// Bytes of a storage have no resourceVersion. Upstream sets the stored one and compares it with the one that
		// was sent.
		p.substitute(d.Field(root, "metadata"), "resourceVersion", p.copyOf(read))
		p.substitute(d.Field(p.old.root, "metadata"), "resourceVersion", p.copyOf(read))
	}
	p.old.end = uint32(len(d.Nodes))
	d.MarkDirty(root, d.Field(root, "metadata"))
	p.root = root
	p.out.Defaulted = slices.DeleteFunc(p.out.Defaulted, func(c Change) bool { return !isStatus(c) })
}

// clone returns a copy of a node with copies of its members. The members keep their children.
func (p *pass) clone(node uint32) uint32 {
	d := p.d
	made := p.copyOf(node)
	last := uint32(0)
	for c := d.Nodes[node].First; c != 0; c = d.Nodes[c].Next {
		member := p.copyOf(c)
		if last == 0 {
			d.Nodes[made].First = member
		} else {
			d.Nodes[last].Next = member
		}
		last = member
	}
	return made
}

// substitute replaces or adds a member. A made of 0 removes the member.
func (p *pass) substitute(parent uint32, key string, made uint32) {
	switch member := p.d.Field(parent, key); {
	case made == 0:
		p.drop(parent, member)
	case member == 0:
		p.d.Append(parent, made)
	default:
		p.exchange(parent, member, made)
	}
}
