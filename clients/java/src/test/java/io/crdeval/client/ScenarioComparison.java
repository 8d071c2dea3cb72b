package io.crdeval.client;

import java.util.List;
import java.util.Map;
import java.util.TreeSet;

/** Compares outcomes as clients/scenarios/README.md defines. */
final class ScenarioComparison {
    private ScenarioComparison() {}

    /** Returns the path of the first difference between an expected value and an outcome, or null. */
    static String difference(Object expected, Object got) {
        if (expected instanceof Map<?, ?> want) {
            return got instanceof Map<?, ?> have ? mapDifference(want, have) : "";
        }
        if (expected instanceof List<?> want) {
            return repeats(want, got, want.size());
        }
        return expected.equals(got) ? null : "";
    }

    private static String mapDifference(Map<?, ?> want, Map<?, ?> have) {
        if (want.get("error") == null && have.get("error") != null) {
            return ".error";
        }
        if (want.get("count") instanceof Integer count) {
            String at = repeats((List<?>) want.get("results"), have.get("results"), count);
            return at == null ? null : ".results" + at;
        }
        for (Object key : new TreeSet<>(want.keySet())) {
            if (want.get(key) == null) {
                if (have.containsKey(key)) {
                    return "." + key;
                }
                continue;
            }
            String at = difference(want.get(key), have.get(key));
            if (at != null) {
                return "." + key + at;
            }
        }
        return null;
    }

    private static String repeats(List<?> want, Object got, int count) {
        if (!(got instanceof List<?> have)) {
            return "";
        }
        if (have.size() != count) {
            return ".length (" + have.size() + ", not " + count + ")";
        }
        for (int i = 0; i < count; i++) {
            String at = difference(want.get(i % want.size()), have.get(i));
            if (at != null) {
                return "[" + i + "]" + at;
            }
        }
        return null;
    }
}
