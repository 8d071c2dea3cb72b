package gateway

import "fmt"

// ListLimit bounds a list of a request.
type ListLimit struct {
	Name    string // as errors and GetServerInfo have it
	Maximum int
}

// DefaultLists returns the default of Options.Lists.
func DefaultLists() map[string]ListLimit {
	return map[string]ListLimit{
		"items": {"max_batch_items", 1000}, "crds": {"max_inline_crds", 16}, "entries": {"max_register_crds", 1000},
		"objects": {"max_batch_items", 1000}, "storedVersions": {"max_stored_versions", 1000},
	}
}

// A listError is a list with more elements than its limit. The elements beyond the limit are not read.
type listError struct {
	field string
	limit ListLimit
}

// Error names the limit.
func (e *listError) Error() string {
	return fmt.Sprintf("there are more %s than the limit %s, which is %d: send them in several calls", e.field, e.limit.Name, e.limit.Maximum)
}
