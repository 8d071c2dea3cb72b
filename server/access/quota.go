package access

// Quota is the maximum that a catalog may use. A field that is 0 is no limit.
type Quota struct {
	CRDs      int   // registered CRDs
	Bytes     int64 // of the stored revisions of all CRDs
	Revisions int   // stored revisions of all CRDs
	Watches   int   // open watches of all callers
}

// quotaRule is an entry of the access file.
type quotaRule struct {
	catalogs []string
	quota    Quota
}

func parseQuota(n node) (r quotaRule) {
	fields := n.fields("catalogs", "crds", "bytes", "revisions", "watches")
	r.catalogs = n.catalogs(fields)
	r.quota = Quota{
		CRDs: fields["crds"].number(), Bytes: fields["bytes"].bytes(), Revisions: fields["revisions"].number(),
		Watches: fields["watches"].number(),
	}
	if _, ok := fields["catalogs"]; ok && len(n.Content) == 2 {
		n.wrong("the entry has no quota: set crds, bytes, revisions or watches")
	}
	return r
}
