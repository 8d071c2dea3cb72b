package io.crdeval.client;

import java.util.Optional;

/**
 * A field that was removed from an object or added to it.
 *
 * @param path the path as Kubernetes writes it in warnings
 * @param pointer the path as a JSON pointer: of a removed field into the input, of an added field into the result
 * @param value the value that was removed or added
 * @param hint the probably intended field of a removed field. Empty for an added field.
 * @param position the start of a removed value in the input. Empty for an added field.
 */
public record FieldChange(
        String path,
        String pointer,
        Document value,
        Optional<Violation.Hint> hint,
        Optional<Violation.Position> position) {
    static FieldChange fromProto(io.crdeval.v1.FieldChange c) {
        return new FieldChange(
                c.getPath(),
                c.getPointer(),
                Document.fromProto(c.getValue()),
                Protos.optional(c.hasHint(), c::getHint, Violation.Hint::fromProto),
                Protos.optional(c.hasPosition(), c::getPosition, Violation.Position::fromProto));
    }
}
