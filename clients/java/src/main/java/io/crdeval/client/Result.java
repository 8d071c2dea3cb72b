package io.crdeval.client;

import java.util.NoSuchElementException;
import java.util.Objects;
import java.util.Optional;

/**
 * The result for one object or manifest of a call. An error never means that the object is valid.
 *
 * @param <T> the type of the value
 */
public sealed interface Result<T> permits Result.Success, Result.Failure {
    /**
     * The server evaluated the object. The value can still be a rejection.
     *
     * @param value the answer
     * @param <T> the type of the value
     */
    record Success<T>(T value) implements Result<T> {
        /** Checks that there is a value. */
        public Success {
            Objects.requireNonNull(value, "value");
        }
    }

    /**
     * The server could not evaluate the object.
     *
     * @param cause the reason
     * @param <T> the type of the value
     */
    record Failure<T>(CrdevalException cause) implements Result<T> {
        /** Checks that there is a cause. */
        public Failure {
            Objects.requireNonNull(cause, "cause");
        }
    }

    /**
     * Returns the value.
     *
     * @throws CrdevalException if the server could not evaluate the object
     */
    default T get() {
        if (this instanceof Success<T> success) {
            return success.value();
        }
        throw error().orElseThrow(NoSuchElementException::new);
    }

    /** Returns the reason why the server could not evaluate the object. Empty if there is a value. */
    default Optional<CrdevalException> error() {
        return this instanceof Failure<T> failure ? Optional.of(failure.cause()) : Optional.empty();
    }
}
