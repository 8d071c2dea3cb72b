package io.crdeval.client;

import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.Supplier;

/** Converts parts of generated messages. */
final class Protos {
    private Protos() {}

    /** Returns the converted field if it is present. */
    static <P, R> Optional<R> optional(boolean present, Supplier<P> field, Function<? super P, R> convert) {
        return present ? Optional.of(convert.apply(field.get())) : Optional.empty();
    }

    /** Returns the converted elements. */
    static <P, R> List<R> list(List<P> elements, Function<? super P, R> convert) {
        return elements.stream().<R>map(convert).toList();
    }
}
