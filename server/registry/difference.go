package registry

// difference returns the changes that lead from one snapshot to a later one, as far as they show: what was created and deleted in between
// does not.
func difference(before, after *snapshot) []change {
	var began, changes, ended []change
	for name, was := range before.sorted.All() {
		is, ok := after.catalogs.Get(name)
		if ok && is.record.Created.Equal(was.record.Created) {
			changes = append(changes, was.difference(is)...)
			continue
		}
		for _, d := range was.sorted.All() {
			ended = append(ended, change{catalog: name, before: d})
		}
		ended = append(ended, change{catalog: name, ended: true})
	}
	for name, is := range after.sorted.All() {
		if was, ok := before.catalogs.Get(name); ok && was.record.Created.Equal(is.record.Created) {
			continue
		}
		began = append(began, change{catalog: name, began: true})
		for _, d := range is.sorted.All() {
			changes = append(changes, change{catalog: name, after: d})
		}
	}
	// A catalog that was made anew ends before it begins.
	return append(append(ended, began...), changes...)
}

// difference returns what changed in a catalog: of what was there, then what is new.
func (c *catalog) difference(after *catalog) (changes []change) {
	for name, was := range c.sorted.All() {
		is, ok := after.crds.Get(name)
		switch {
		case !ok:
			changes = append(changes, change{catalog: c.name, before: was})
		case is.version == was.version:
		case !is.record.Created.Equal(was.record.Created):
			changes = append(changes, change{catalog: c.name, before: was}, change{catalog: c.name, after: is})
		default:
			changes = append(changes, change{catalog: c.name, before: was, after: is})
		}
	}
	for name, is := range after.sorted.All() {
		if _, ok := c.crds.Get(name); !ok {
			changes = append(changes, change{catalog: c.name, after: is})
		}
	}
	return changes
}
