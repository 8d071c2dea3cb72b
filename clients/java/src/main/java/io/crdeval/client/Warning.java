package io.crdeval.client;

import java.util.Optional;

/**
 * Something about a document that does not reject it.
 *
 * @param type {@code UnknownField}, {@code DuplicateField}, {@code Ratcheted}, {@code Deprecated}, {@code Warning}, or
 *     {@code Notice} for a note of crdeval, which API servers do not send
 * @param text the text of the Warning header of an API server
 * @param field the field as Kubernetes writes it, for people. "" for a warning without one.
 * @param pointer the field as a JSON pointer (RFC 6901) into the document. "" if it is unknown.
 * @param position the position in the document that was sent. Empty if it is unknown.
 * @param hint a suggested correction. Empty if no correction is likely.
 */
public record Warning(
        String type,
        String text,
        String field,
        String pointer,
        Optional<Violation.Position> position,
        Optional<Violation.Hint> hint) {
    static Warning fromProto(io.crdeval.v1.Warning w) {
        return new Warning(
                w.getType(),
                w.getText(),
                w.getField(),
                w.getPointer(),
                Protos.optional(w.hasPosition(), w::getPosition, Violation.Position::fromProto),
                Protos.optional(w.hasHint(), w::getHint, Violation.Hint::fromProto));
    }
}
