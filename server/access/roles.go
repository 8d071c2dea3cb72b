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

// Permission is a bit set of the kinds of calls that a caller may make in a catalog.
type Permission uint8

// Identified is the requirement of calls that any identity may make. They are about no catalog, or filter their
// answer.
const Identified Permission = 0

// The permissions. Each other call requires one of them; methods.go lists those of the methods of gRPC.
const (
	Reads Permission = 1 << iota
	Evaluates
	Registers
	Administers
)

// roles are all roles, from the one with the fewest permissions.
var roles = []Role{Reader, Evaluator, Registrar, Admin}

var permissionsOf = map[Role]Permission{
	Reader:    Reads,
	Evaluator: Reads | Evaluates,
	Registrar: Reads | Registers,
	Admin:     Reads | Evaluates | Registers | Administers,
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
