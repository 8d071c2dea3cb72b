package io.crdeval.client;

import io.crdeval.v1.PipelineStep;
import java.util.Optional;

/**
 * One reason for a rejection, with machine-readable details.
 *
 * @param type the type, for example {@code FieldValueInvalid}. The types of Kubernetes are causes of the Status; the
 *     others are {@code SyntaxError}, {@code DecodeError}, {@code UnknownField}, {@code DuplicateField} and
 *     {@code Rejected}.
 * @param field the field as Kubernetes writes it, for people: {@code spec.containers[0].name}
 * @param message the text of Kubernetes, without the field, or one short sentence of crdeval
 * @param detail the detail part of the message. Empty for a message without it.
 * @param pointer the field as a JSON pointer (RFC 6901) into the document. "" is the whole document.
 * @param schemaPointer the schema keyword, as a JSON pointer into the openAPIV3Schema. "" if no keyword reports it.
 * @param step the step of the write that found the violation
 * @param badValue the invalid value. Empty if Kubernetes leaves it out; a JSON null is a value.
 * @param rule the rule that failed. Empty for other violations.
 * @param position the position in the document that was sent. Empty if it is unknown.
 * @param hint a suggested correction. Empty if no correction is likely.
 */
public record Violation(
        String type,
        String field,
        String message,
        String detail,
        String pointer,
        String schemaPointer,
        PipelineStep step,
        Optional<Document> badValue,
        Optional<Rule> rule,
        Optional<Position> position,
        Optional<Hint> hint) {
    /**
     * A rule of x-kubernetes-validations.
     *
     * @param rule the expression
     * @param index the index of the rule in its list, from 0
     * @param reason the reason of the rule, for example {@code FieldValueInvalid}
     */
    public record Rule(String rule, int index, String reason) {}

    /**
     * A position in the text of a document.
     *
     * @param line the line, from 1
     * @param column the column in Unicode code points, from 1
     * @param offset the offset in bytes, from 0
     */
    public record Position(int line, int column, int offset) {
        static Position fromProto(io.crdeval.v1.Position p) {
            return new Position(p.getLine(), p.getColumn(), p.getOffset());
        }
    }

    /**
     * A correction that crdeval suggests.
     *
     * @param text a sentence for people
     * @param pointer the probably intended field as a JSON pointer. "" if the hint is not about the field.
     * @param replacement the probably intended value. Empty if the hint is not about a value.
     */
    public record Hint(String text, String pointer, Optional<Document> replacement) {
        static Hint fromProto(io.crdeval.v1.Hint h) {
            return new Hint(
                    h.getText(),
                    h.getPointer(),
                    Protos.optional(h.hasReplacement(), h::getReplacement, Document::fromProto));
        }
    }

    static Violation fromProto(io.crdeval.v1.Violation v) {
        return new Violation(
                v.getType(),
                v.getField(),
                v.getMessage(),
                v.getDetail(),
                v.getPointer(),
                v.getSchemaPointer(),
                v.getStep(),
                Protos.optional(v.hasBadValue(), v::getBadValue, Document::fromProto),
                Protos.optional(v.hasRule(), v::getRule, r -> new Rule(r.getRule(), r.getIndex(), r.getReason())),
                Protos.optional(v.hasPosition(), v::getPosition, Position::fromProto),
                Protos.optional(v.hasHint(), v::getHint, Hint::fromProto));
    }
}
