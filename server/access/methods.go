package access

import "strings"

// methods has the permissions that methods require, by service. Calls of methods that it does not contain are rejected.
var methods = map[string]map[string]permission{
	"crdeval.v1.RegistryService": {
		"CheckCrd": reads, "DiffCrd": reads, "GetCatalog": reads, "GetCrd": reads, "ListCrds": reads, "WatchCrds": reads,
		"ListCatalogs": identified, // lists the catalogs in which the caller has a role

		"RegisterCrd": registers, "RegisterCrds": registers, "DeleteCrd": registers, "SetStoredVersions": registers,
		"SetConversion": registers,

		"CreateCatalog": administers, "DeleteCatalog": administers,
	},
	"crdeval.v1.EvaluationService": {
		"Validate": evaluates, "Admit": evaluates, "AdmitStream": evaluates, "Prune": evaluates, "Default": evaluates,
		"Read": evaluates, "ReadStream": evaluates, "Convert": evaluates,
	},
	"crdeval.v1.PresentationService": {
		"Discover": reads, "Explain": reads, "GetCrdObject": reads, "GetOpenApi": reads,

		"GetScale": evaluates, "SetScale": evaluates, "SelectFields": evaluates, "Table": evaluates,
	},
	"crdeval.v1.ApiServerService": {
		"DecodeBody": evaluates, "DecodeBodyStream": evaluates, "ValidateDecoded": evaluates, "ValidateDecodedStream": evaluates,

		"GetFieldManagement": reads, "GetOpenApiModels": reads,
	},
	"crdeval.v1.ServerService":  {"GetServerInfo": identified},
	"crdeval.webhook.Converter": {"Convert": evaluates},

	// The transport accepts probes without credentials.
	"grpc.health.v1.Health":                    {"Check": identified, "List": identified, "Watch": identified},
	"grpc.reflection.v1.ServerReflection":      {"ServerReflectionInfo": identified},
	"grpc.reflection.v1alpha.ServerReflection": {"ServerReflectionInfo": identified},
}

// permissionFor returns the permission that a method such as /crdeval.v1.RegistryService/GetCrd requires. ok is false
// for an unknown method.
func permissionFor(method string) (p permission, ok bool) {
	service, name, _ := strings.Cut(strings.TrimPrefix(method, "/"), "/")
	p, ok = methods[service][name]
	return p, ok
}
