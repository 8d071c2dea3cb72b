// Package bench measures crdeval beside the API server's own library, alternately in one process, so that the figures
// can be compared. make bench runs it. [Cases] lists the cases. The kinds are:
//
//   - structural: a create of one object. Strict decoding, metadata coercion, pruning, nulls, defaults, OpenAPI
//     validation, embedded metadata, list types; not the validation of the object's own metadata. Our time includes the
//     bytes of the new object; upstream's ends with its map.
//
//   - admit: the whole create: all of structural, the object's own metadata, the rules within upstream's budget.
//
//   - update: an update that changes a label: all of admit, with the old object read as from storage.
//
//   - reject: admit for an object with ten field errors, up to the field errors and the Status for the client. The texts
//     of both sides are equal.
//
//   - compile: the preparation of a stored CRD for objects, from the YAML that kubectl prints, all served versions with
//     rules. Upstream's part is YAMLToJSONStrict, decoding, and what its handler does: conversion to the internal version,
//     NewStructural, a copy with pruned defaults, NewSchemaValidator, NewValidator of the rules. We compile equal schemas
//     of a CRD once, like the engine.
//
//   - compile-version: the same for the version of the object only.
//
//   - register: the registration of a CRD, from the YAML of its manifest until its objects can be evaluated. Ours is
//     engine.Compile: validation with the report (positions, costs, causes, lowest minors), the canonical manifest and its
//     digest, and plans. Upstream's is YAMLToJSONStrict and a create as in createHandler: strict decoding, defaults,
//     conversion, BeforeCreate with its strategy (PrepareForCreate, validation, warnings), encoding for storage, and then
//     compile for all served versions. No registration reuses anything of an earlier one; only patterns are interned, and
//     they are compiled when they first match a string. register/largest is the sum of the ten largest manifests of the
//     corpus by JSON size; -v names them.
//
//   - register-update: the same for an update of a registered CRD that adds an optional property to each version. Both
//     sides validate it as an update and read the stored CRD; upstream calls BeforeUpdate.
//
//   - heap: the memory of one compiled version: ours a plan with rules, upstream's a structural schema and two validators.
//     We intern patterns per process; they are printed separately, with the memory that matching needs.
//
//   - yaml: the parse of an object, and of its CRD, as kubectl prints them. Ours is ParseYAML into a reused Doc, which has
//     the tree and the offsets of all positions. Upstream's is YAMLToJSONStrict of sigs.k8s.io/yaml, which has neither. json
//     is our parse of the same document in JSON. position is ParseYAML and the position of the last value.
//
//   - grpc, rest: whole creates as in admit, in objects per second. Ours are batches of 100 from concurrent callers
//     through client, loopback and server in this process. Upstream's are function calls, one goroutine per core. Only
//     the verdict is requested, because upstream returns nothing else. Each side uses its own settings of the garbage
//     collector: the server paces itself, upstream's library has Go's default. GOGC in the environment sets both.
//
//   - convert: a ConversionReview of 10,000 objects over HTTP on loopback: the server with conversion rules, and a webhook
//     written by hand with encoding/json. crontab is the example of Kubernetes' documentation, with expressions; workload
//     has objects of 10 kB and rules of each kind. Before the measurement, both convert some objects to the same ones.
//
//   - peers: one validated object, from its bytes, in JSON. Ours is admit; other validators run in processes of their own,
//     with the CRD or with a JSON schema that is made of it. peers/checks prints which of them return another verdict than
//     upstream. The modules, packages and wheels of the validators are pinned in .tools/peers.
//
//   - limit: bytes per second of admit, of our parser, of the parser of simdjson-go, and of a plain copy.
//
//   - cli: crdeval admit, kubeconform and kubectl-validate as processes that read files: 2,000 HTTPRoutes in YAML, one, and
//     20,000 in a List in JSON. Before the measurement, each must reject an invalid object. In each run, it must accept all
//     objects. cli/invalid counts how many of the invalid examples of Gateway API each of them rejects.
//
//   - unary: calls with one CronTab, from concurrent callers in this process to a server with its default configuration and
//     telemetry in a process of its own. validate and admit compare the CPU time of the server with that of an echo handler,
//     a plain gRPC server in a process of its own that receives and sends messages of the same sizes from the same client
//     code. admit-multiplexed is the CPU time of both processes for an Admit on a shared stream. batch compares the CPU time
//     of the server for batches of 100 over REST with that over gRPC. These cases need Linux.
//
// The kinds peers, limit and cli download and build other tools. They run only if the pattern contains their names.
//
// Structural cases remove the rules from the CRDs on both sides. Before the measurement, both sides must return the
// same object or the same field errors. Figures are medians. The sides alternate, and each turn begins with a collected
// heap. Time on one core is CPU time; objects per second use the clock.
package bench
