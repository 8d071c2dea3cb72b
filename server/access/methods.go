package access

import "strings"

// Requirement is what a method requires of its caller.
type Requirement struct {
	Permission Permission // in the catalog of the request; 0: any identity is sufficient
}

var (
	identified = Requirement{} // the method is about no catalog, or filters its answer
	reads      = Requirement{Permission: Read}
	evaluates  = Requirement{Permission: Evaluate}
	registers  = Requirement{Permission: Register}
	administer = Requirement{Permission: Administer}
)

// methods maps services and methods to requirements. Calls of methods that it does not contain are rejected.
var methods = map[string]map[string]Requirement{
	"crdeval.v1.RegistryService": {
		"CheckCrd": reads, "DiffCrd": reads, "GetCatalog": reads, "GetCrd": reads, "ListCrds": reads, "WatchCrds": reads,
		"ListCatalogs": identified, // lists the catalogs in which the caller has a role

		"RegisterCrd": registers, "RegisterCrds": registers, "DeleteCrd": registers, "SetStoredVersions": registers,
		"SetConversion": registers,

		"CreateCatalog": administer, "DeleteCatalog": administer,
	},
	"crdeval.v1.EvaluationService": {
		"Validate": evaluates, "Admit": evaluates, "AdmitStream": evaluates, "Prune": evaluates, "Default": evaluates,
		"Read": evaluates, "ReadStream": evaluates, "Convert": evaluates,
	},
	"crdeval.v1.PresentationService": {
		"Discover": reads, "Explain": reads, "GetCrdObject": reads, "GetFieldManagement": reads, "GetOpenApi": reads,

		"GetScale": evaluates, "SetScale": evaluates, "SelectFields": evaluates, "Table": evaluates,
	},
	"crdeval.v1.ServerService":  {"GetServerInfo": identified},
	"crdeval.webhook.Converter": {"Convert": evaluates},

	// The transport accepts probes without credentials.
	"grpc.health.v1.Health":                    {"Check": identified, "List": identified, "Watch": identified},
	"grpc.reflection.v1.ServerReflection":      {"ServerReflectionInfo": identified},
	"grpc.reflection.v1alpha.ServerReflection": {"ServerReflectionInfo": identified},
}

// Require returns the requirement of a method, such as /crdeval.v1.RegistryService/GetCrd. ok is false for an unknown
// method.
func Require(method string) (r Requirement, ok bool) {
	service, name, _ := strings.Cut(strings.TrimPrefix(method, "/"), "/")
	r, ok = methods[service][name]
	return r, ok
}
