package io.crdeval.client;

import java.util.stream.Collectors;

/** A CustomResourceDefinition was not registered because an API server would reject it. */
public final class CrdRejectedException extends RuntimeException {
    private final transient Registration registration;

    CrdRejectedException(Registration registration) {
        super(text(registration));
        this.registration = registration;
    }

    private static String text(Registration registration) {
        String head = "an API server would reject the CustomResourceDefinition";
        if (registration.violations().isEmpty()) {
            return registration.rejection().map(r -> head + ": " + r.message()).orElse(head);
        }
        return registration.violations().stream()
                .map(v -> "\n  " + v.field() + ": " + v.message())
                .collect(Collectors.joining("", head, ""));
    }

    /** Returns the result with its violations. */
    public Registration registration() {
        return registration;
    }
}
