package io.crdeval.client;

import java.util.Optional;

/**
 * What an API server would answer instead of accepting a write.
 *
 * @param code the HTTP status code, for example 422
 * @param reason the reason of the Status, for example {@code Invalid}
 * @param message the text that kubectl prints
 * @param cause the error in the message, without what an API server puts before it
 * @param status the whole Status. Empty unless the options set with_status.
 */
public record Rejection(int code, String reason, String message, String cause, Optional<Document> status) {
    static Rejection fromProto(io.crdeval.v1.Rejection r) {
        String cause = r.getCause().isEmpty() ? r.getMessage() : r.getCause();
        return new Rejection(
                r.getCode(),
                r.getReason(),
                r.getMessage(),
                cause,
                Protos.optional(r.hasStatus(), r::getStatus, Document::fromProto));
    }
}
