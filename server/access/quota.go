package access

import "github.com/crdeval/crdeval/server/size"

// Quota is the maximum that a catalog may use. A field that is 0 is no limit.
type Quota struct {
	CRDs      int   // registered CRDs
	Bytes     int64 // of the stored revisions of all CRDs
	Revisions int   // stored revisions of all CRDs
	Watches   int   // open watches of all callers
}

// quotaRule is an entry of the access file. The pointers tell 0 from a missing value.
type quotaRule struct {
	Catalogs  []string    `yaml:"catalogs"`
	CRDs      *int        `yaml:"crds"`
	Bytes     *size.Bytes `yaml:"bytes"`
	Revisions *int        `yaml:"revisions"`
	Watches   *int        `yaml:"watches"`
}

func (r *quotaRule) check(wrong func(field, format string, args ...any)) {
	checkGlobs(r.Catalogs, "catalogs", wrong)
	for name, n := range map[string]*int{"crds": r.CRDs, "revisions": r.Revisions, "watches": r.Watches} {
		if n != nil && *n < 1 {
			wrong(name, "%d is less than 1: remove the line if the catalog has no such quota", *n)
		}
	}
	if r.Bytes != nil && *r.Bytes < 1 {
		wrong("bytes", "%d is less than 1: remove the line if the catalog has no such quota", *r.Bytes)
	}
	if r.CRDs == nil && r.Bytes == nil && r.Revisions == nil && r.Watches == nil {
		wrong("catalogs", "the entry has no quota: set crds, bytes, revisions or watches")
	}
}

func (r *quotaRule) quota() Quota {
	return Quota{CRDs: value(r.CRDs), Bytes: int64(value(r.Bytes)), Revisions: value(r.Revisions), Watches: value(r.Watches)}
}

// value returns what p points at, or zero.
func value[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}
