// Package bench measures crdeval beside the API server's own library, in one process and in alternation, so that a
// figure of one is worth something next to the figure of the other. make bench runs it; [Cases] names what there is.
//
//   - structural: a create of one object. Strict decoding, metadata coercion, pruning, nulls, defaults, OpenAPI validation, embedded
//     metadata, list types; not the validation of the object's own metadata. Ours ends with the bytes of the new object, upstream's
//     with its map.
//   - admit: the whole create: all of structural, the object's own metadata, the rules within upstream's budget for an object.
//   - update: an update that changes a label: all of admit, with the old object read as from storage and beside everything that is validated.
//   - reject: admit for an object with ten field errors, up to the field errors and the Status that a client gets. Both sides find the same, text for text.
//   - compile: a decoded definition made ready for objects, rules included, all served versions. Upstream's share is what its handler does for that:
//     conversion to the internal version, NewStructural, a copy with defaults pruned, NewSchemaValidator, the rules' NewValidator. Equal schemas of one
//     definition are compiled once by ours, as the engine does.
//   - compile-version: the same for the version of the object alone, which has nobody to share with.
//   - register: a CRD taken in, from the bytes of its manifest in JSON until its objects could be judged. Ours is engine.Compile: the judgement with its
//     report (positions, costs, culprits, lowest minors), the canonical manifest and its digest, the plans. Upstream's is a create as createHandler does it:
//     strict decoding, defaults, conversion, BeforeCreate with its strategy (PrepareForCreate, validation, warnings), encoding for storage, and then
//     compile for all served versions. Nothing of a CRD serves its next registration: what ours remembers of rules goes with the registration, and patterns, which it
//     interns, are compiled when they first match something. register/largest is the sum of the ten largest
//     manifests of the corpus, counted as JSON; -v names them.
//   - register-update: the same for a CRD that is registered already and gets one more optional property in each version: both sides judge it as an update of
//     that, and read it as it is stored, upstream with BeforeUpdate.
//   - heap: what one compiled version retains: ours a plan with its rules, upstream's a structural schema and two validators. Patterns are interned
//     process-wide by ours and shown apart, as much of them as matching needs.
//   - grpc, rest: whole creates, as admit, in objects a second. Ours are batches of 100 from concurrent callers
//     through client, loopback and server, all in this process; upstream's are function calls, as many goroutines as cores. The
//     verdict alone is asked for, as upstream tells nothing else. Each side collects its garbage as it ships: the server as it paces
//     itself, upstream's library by Go's default; GOGC in the environment sets it for both.
//
// For structural cases rules are taken out of the definitions, on both sides. Before anything is timed, both sides must
// come to the same object, or to the same field errors. Figures are medians; the sides take turns, each turn begins with a
// collected heap. Time on one core is processor time; objects a second are by the clock.
package bench
