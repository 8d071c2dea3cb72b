package io.crdeval.client;

import java.util.List;
import java.util.Optional;

/**
 * Whether an API server would accept a write, and why not.
 *
 * @param allowed whether the write would be accepted
 * @param rejection what the API server would answer. Empty if the write is allowed.
 * @param violations why the write is rejected, in the order of the document. A rejection has at least one.
 * @param next with strict field validation, the violations that remain once unknown and duplicate fields are fixed
 * @param ratcheted violations of values that an update does not change. They do not reject the write.
 * @param warnings the warnings that the API server would send, and notes of crdeval
 * @param object the object that the API server would return. Empty for validate and if the write is rejected.
 * @param storedObject the object that the API server would store. Empty if {@code object} is.
 * @param pruned the unknown fields that were removed
 * @param defaulted the defaults that were added
 * @param revision the revision of the CRD that was used
 * @param message the message of the server, with the fields that this class lacks
 */
public record Verdict(
        boolean allowed,
        Optional<Rejection> rejection,
        List<Violation> violations,
        List<Violation> next,
        List<Violation> ratcheted,
        List<Warning> warnings,
        Optional<Document> object,
        Optional<Document> storedObject,
        List<FieldChange> pruned,
        List<FieldChange> defaulted,
        String revision,
        io.crdeval.v1.Verdict message) {
    static Verdict fromProto(io.crdeval.v1.Verdict v) {
        Optional<Document> object = Protos.optional(v.hasObject(), v::getObject, Document::fromProto);
        return new Verdict(
                v.getAllowed(),
                Protos.optional(v.hasRejection(), v::getRejection, Rejection::fromProto),
                Protos.list(v.getViolationsList(), Violation::fromProto),
                Protos.list(v.getNextList(), Violation::fromProto),
                Protos.list(v.getRatchetedList(), Violation::fromProto),
                Protos.list(v.getWarningsList(), Warning::fromProto),
                object,
                Protos.optional(v.hasStoredObject(), v::getStoredObject, Document::fromProto)
                        .or(() -> object),
                Protos.list(v.getChanges().getPrunedList(), FieldChange::fromProto),
                Protos.list(v.getChanges().getDefaultedList(), FieldChange::fromProto),
                v.getRevision(),
                v);
    }

    static Result<Verdict> result(io.crdeval.v1.VerdictResult r) {
        return r.hasVerdict()
                ? new Result.Success<>(fromProto(r.getVerdict()))
                : new Result.Failure<>(CrdevalException.of(r.getError()));
    }
}
