package io.crdeval.client;

import java.util.List;
import java.util.Optional;

/**
 * An object after one step: pruning, defaulting, a read from storage, or a conversion.
 *
 * @param object the result. Empty with a rejection, and if the options leave it out.
 * @param rejection what an API server would answer instead of an object. Empty if there is a result.
 * @param violations why there is a rejection, which has at least one
 * @param pruned the unknown fields that were removed
 * @param defaulted the defaults that were added
 * @param warnings the warnings that the API server would send, and notes of crdeval
 * @param changed whether the result differs from the object that was sent
 * @param revision the revision of the CRD that was used
 * @param message the message of the server, with the fields that this class lacks
 */
public record Transformed(
        Optional<Document> object,
        Optional<Rejection> rejection,
        List<Violation> violations,
        List<FieldChange> pruned,
        List<FieldChange> defaulted,
        List<Warning> warnings,
        boolean changed,
        String revision,
        io.crdeval.v1.TransformedObject message) {
    static Result<Transformed> result(io.crdeval.v1.TransformResult r) {
        if (!r.hasTransformed()) {
            return new Result.Failure<>(CrdevalException.of(r.getError()));
        }
        io.crdeval.v1.TransformedObject t = r.getTransformed();
        return new Result.Success<>(new Transformed(
                Protos.optional(t.hasObject(), t::getObject, Document::fromProto),
                Protos.optional(t.hasRejection(), t::getRejection, Rejection::fromProto),
                Protos.list(t.getViolationsList(), Violation::fromProto),
                Protos.list(t.getChanges().getPrunedList(), FieldChange::fromProto),
                Protos.list(t.getChanges().getDefaultedList(), FieldChange::fromProto),
                Protos.list(t.getWarningsList(), Warning::fromProto),
                t.getChanged(),
                t.getRevision(),
                t));
    }
}
