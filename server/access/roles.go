package access

import (
	"slices"
	"strings"
)

// Role is a name for permissions.
type Role string

// The roles.
const (
	Reader    Role = "reader"    // reads the registry and what is derived from CRDs
	Evaluator Role = "evaluator" // also evaluates objects
	Registrar Role = "registrar" // also changes CRDs, but evaluates no objects
	Admin     Role = "admin"     // everything, including catalogs
)

// Permission is a set of things that a caller may do in a catalog.
type Permission uint8

// The permissions. Each method requires one of them (methods.go).
const (
	Read Permission = 1 << iota
	Evaluate
	Register
	Administer
)

// roles are all roles, from the one with the fewest permissions.
var roles = []Role{Reader, Evaluator, Registrar, Admin}

var permissionsOf = map[Role]Permission{
	Reader:    Read,
	Evaluator: Read | Evaluate,
	Registrar: Read | Register,
	Admin:     Read | Evaluate | Register | Administer,
}

func roleNames() (names []string) {
	for _, r := range roles {
		names = append(names, string(r))
	}
	return names
}

// rolesWith returns the names of the roles that have a permission, for error messages.
func rolesWith(p Permission) string {
	names := slices.DeleteFunc(roleNames(), func(r string) bool { return permissionsOf[Role(r)]&p == 0 })
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]
}
