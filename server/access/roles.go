package access

import (
	"slices"
	"strings"
)

// Role is a named set of permissions.
type Role string

// The roles.
const (
	Reader    Role = "reader"    // reads the registry and documents derived from CRDs
	Evaluator Role = "evaluator" // is a Reader and evaluates objects
	Registrar Role = "registrar" // is a Reader and changes CRDs
	Admin     Role = "admin"     // has all permissions, such as creating catalogs
)

// permission is a bit set of the kinds of calls that a caller may make in a catalog.
type permission uint8

// identified is the requirement of methods that any identity may call. They are about no catalog, or filter their
// answer.
const identified permission = 0

// The permissions. Each other method requires one of them (methods.go).
const (
	reads permission = 1 << iota
	evaluates
	registers
	administers
)

// roles are all roles, from the one with the fewest permissions.
var roles = []Role{Reader, Evaluator, Registrar, Admin}

var permissionsOf = map[Role]permission{
	Reader:    reads,
	Evaluator: reads | evaluates,
	Registrar: reads | registers,
	Admin:     reads | evaluates | registers | administers,
}

func roleNames() (names []string) {
	for _, r := range roles {
		names = append(names, string(r))
	}
	return names
}

// rolesWith returns the names of the roles that have a permission, for error messages.
func rolesWith(p permission) string {
	names := slices.DeleteFunc(roleNames(), func(r string) bool { return permissionsOf[Role(r)]&p == 0 })
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]
}
