package io.crdeval.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.yaml.snakeyaml.Yaml;

/** Runs clients/scenarios against the server that clients/scenarios/serve started. */
class ScenariosIT {
    private static final Path FILE = Path.of("../scenarios/scenarios.yaml");

    @TestFactory
    Stream<DynamicTest> scenarios() throws IOException {
        String address = System.getenv("CRDEVAL_SCENARIOS_GRPC");
        assertNotNull(address, "run this test with clients/scenarios/serve, see .ci/java");
        Map<String, Object> all = ScenarioRunner.map(new Yaml().load(Files.readString(FILE)));
        List<Map<String, Object>> scenarios = ScenarioRunner.maps(all.get("scenarios"));
        assertFalse(scenarios.isEmpty(), "there are no scenarios");
        return scenarios.stream()
                .map(s -> DynamicTest.dynamicTest((String) s.get("name"), () -> {
                    assertEquals(java.util.Set.of("name", "steps"), s.keySet());
                    AtomicInteger number = new AtomicInteger();
                    try (ScenarioRunner runner = new ScenarioRunner(address, all)) {
                        for (Map<String, Object> step : ScenarioRunner.maps(s.get("steps"))) {
                            Map<String, Object> got = runner.run(step);
                            String at = ScenarioComparison.difference(step.get("expect"), got);
                            int i = number.getAndIncrement();
                            if (at != null) {
                                fail("step " + i + ", " + step.get("call") + ": " + at
                                        + " differs from what is expected:\n" + got);
                            }
                        }
                        assertTrue(runner.released(), "the stream is not released");
                    }
                }));
    }

    @Test
    void comparisonNoticesDifferences() {
        String got = "results: [{object: '1.0', violations: [{type: a}]}, {error: {code: NOT_FOUND}}]";
        for (String same : List.of(
                "results: [{object: '1.0'}, {error: {code: NOT_FOUND}}]",
                "results: [{object: '1.0', storedObject: null}, {error: {}}]",
                "{count: 2, results: [{object: '1.0'}, {error: {}}]}")) {
            assertNull(difference(same, got), same);
        }
        for (String other : List.of(
                "results: [{object: '1'}, {error: {code: NOT_FOUND}}]",
                "results: [{object: '1.0'}]",
                "results: [{object: '1.0'}, {}]",
                "results: [{object: null}, {error: {}}]",
                "results: [{violations: []}, {error: {}}]",
                "results: [{violations: [{type: b}]}, {error: {}}]",
                "results: [{warnings: []}, {error: {}}]",
                "error: {code: NOT_FOUND}",
                "{count: 3, results: [{object: '1.0'}, {error: {}}]}",
                "{count: 2, results: [{object: '1.0'}]}")) {
            assertNotNull(difference(other, got), other);
        }
    }

    private static String difference(String expected, String got) {
        return ScenarioComparison.difference(new Yaml().load(expected), new Yaml().load(got));
    }

    @Test
    void connectsToUnixSocket() {
        String socket = System.getenv("CRDEVAL_SCENARIOS_SOCKET");
        assertNotNull(socket, "run this test with clients/scenarios/serve, see .ci/java");
        try (CrdevalClient client = CrdevalClient.builder("unix://" + socket)
                .token("scenario-token")
                .build()) {
            assertTrue(client.limits().getMaxBatchItems() > 0);
        }
    }
}
