package admission

// acceptUpdate goes the fast way. True: that settled the matter. False: the trees are half done.
func (p *pass) acceptUpdate(v *Version) bool {
	return false
}
