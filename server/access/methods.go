package access

import "strings"

// methods has the permissions that methods require, by service. Calls of methods that it does not contain are rejected.
var methods = map[string]map[string]Permission{
	"crdeval.v1.RegistryService": {
		"CheckCrd": Reads, "DiffCrd": Reads, "GetCatalog": Reads, "GetCrd": Reads, "ListCrds": Reads, "WatchCrds": Reads,
		"ListCatalogs": Identified, // lists the catalogs in which the caller has a role

		"RegisterCrd": Registers, "RegisterCrds": Registers, "DeleteCrd": Registers, "SetStoredVersions": Registers,
		"SetConversion": Registers,

		"CreateCatalog": Administers, "DeleteCatalog": Administers,
	},
	"crdeval.v1.EvaluationService": {
		"Validate": Evaluates, "Admit": Evaluates, "AdmitStream": Evaluates, "Prune": Evaluates, "Default": Evaluates,
		"Read": Evaluates, "ReadStream": Evaluates, "Convert": Evaluates,
	},
	"crdeval.v1.PresentationService": {
		"Discover": Reads, "Explain": Reads, "GetCrdObject": Reads, "GetOpenApi": Reads,

		"GetScale": Evaluates, "SetScale": Evaluates, "SelectFields": Evaluates, "Table": Evaluates,
	},
	"crdeval.v1.ApiServerService": {
		"DecodeBody": Evaluates, "DecodeBodyStream": Evaluates, "ValidateDecoded": Evaluates, "ValidateDecodedStream": Evaluates,

		"GetFieldManagement": Reads, "GetOpenApiModels": Reads,
	},
	"crdeval.v1.ServerService": {"GetServerInfo": Identified},

	// The transport accepts probes without credentials.
	"grpc.health.v1.Health":                    {"Check": Identified, "List": Identified, "Watch": Identified},
	"grpc.reflection.v1.ServerReflection":      {"ServerReflectionInfo": Identified},
	"grpc.reflection.v1alpha.ServerReflection": {"ServerReflectionInfo": Identified},
}

// permissionFor returns the permission that a method such as /crdeval.v1.RegistryService/GetCrd requires. ok is false
// for an unknown method.
func permissionFor(method string) (p Permission, ok bool) {
	service, name, _ := strings.Cut(strings.TrimPrefix(method, "/"), "/")
	p, ok = methods[service][name]
	return p, ok
}
