package io.crdeval.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.rpc.Code;
import io.crdeval.v1.ServerLimits;
import io.crdeval.v1.ValidateRequest;
import io.grpc.Status;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Tests of unary calls. */
class CrdevalClientTest {
    private FakeServer server;

    @BeforeEach
    void start() throws IOException {
        server = new FakeServer(UUID.randomUUID().toString());
    }

    @AfterEach
    void stop() {
        server.close();
    }

    private static Document[] objects(int count) {
        return IntStream.range(0, count).mapToObj(i -> Document.of("{\"i\":" + i + "}")).toArray(Document[]::new);
    }

    private List<Integer> batches() {
        return server.requests.stream().map(ValidateRequest::getItemsCount).toList();
    }

    @Test
    void splitsCallsByTheNumberOfItems() {
        List<Result<Verdict>> results =
                server.client(CrdevalClient.builder("x")).validate(objects(5));
        assertEquals(List.of(2, 2, 1), batches());
        assertEquals(
                List.of("{\"i\":0}", "{\"i\":1}", "{\"i\":2}", "{\"i\":3}", "{\"i\":4}"),
                results.stream().map(r -> r.get().revision()).toList());
    }

    @Test
    void splitsCallsByTheirSize() {
        server.limits = ServerLimits.newBuilder().setMaxBatchItems(100).setMaxMessageBytes(100).build();
        server.client(CrdevalClient.builder("x")).validate(objects(7));
        assertTrue(batches().size() > 1, batches().toString());
        for (ValidateRequest request : server.requests) {
            assertTrue(request.getSerializedSize() <= 60 || request.getItemsCount() == 1, batches().toString());
        }
        server.requests.clear();
        Document large = Document.of("{\"a\":\"" + "b".repeat(200) + "\"}");
        server.client(CrdevalClient.builder("x")).validate(large, objects(1)[0]);
        assertEquals(List.of(1, 1), batches());
    }

    @Test
    void sendsNothingForNoObjects() {
        assertEquals(List.of(), server.client(CrdevalClient.builder("x")).validate());
        assertEquals(List.of(), batches());
    }

    @Test
    void keepsErrorsOfItems() {
        List<Result<Verdict>> results = server.client(CrdevalClient.builder("x"))
                .validate(Document.of("{\"error\":1}"), Document.of("{}"));
        CrdevalException error = results.get(0).error().orElseThrow();
        assertEquals("CRD_NOT_FOUND", error.reason());
        assertThrows(CrdevalException.class, results.get(0)::get);
        assertTrue(results.get(1).get().allowed());
    }

    @Test
    void waitsForTheDelayOfTheServer() {
        server.failures.set(2);
        List<Duration> pauses = new ArrayList<>();
        server.client(RetryPolicy.DEFAULT, pauses).validate(objects(1));
        assertEquals(List.of(Duration.ofMillis(700), Duration.ofMillis(700)), pauses);
        assertEquals(3, server.requests.size());
    }

    @Test
    void backsOff() {
        server.failure = FakeServer.overloaded(0);
        server.failures.set(3);
        List<Duration> pauses = new ArrayList<>();
        server.client(RetryPolicy.DEFAULT, pauses).validate(objects(1));
        assertEquals(3, pauses.size());
        for (int i = 0; i < 3; i++) {
            long most = 100L << i;
            long pause = pauses.get(i).toMillis();
            assertTrue(most / 2 <= pause && pause <= most, pauses.toString());
        }
    }

    @Test
    void givesUp() {
        server.failures.set(9);
        List<Duration> pauses = new ArrayList<>();
        CrdevalException error = assertThrows(
                CrdevalException.class, () -> server.client(RetryPolicy.DEFAULT, pauses).validate(objects(1)));
        assertEquals(List.of(5, 4), List.of(server.requests.size(), pauses.size()));
        assertEquals(Status.Code.UNAVAILABLE, error.code());
        assertEquals(Duration.ofMillis(700), error.retryDelay().orElseThrow());
    }

    @Test
    void doesNotPauseBeyondTheTimeout() {
        server.failure = FakeServer.overloaded(900_000);
        server.failures.set(9);
        List<Duration> pauses = new ArrayList<>();
        CrdevalException error = assertThrows(
                CrdevalException.class, () -> server.client(RetryPolicy.DEFAULT, pauses).validate(objects(1)));
        assertEquals("OVERLOADED", error.reason());
        assertEquals(List.of(), pauses);
    }

    @Test
    void doesNotRepeatOtherErrors() {
        server.failure = FakeServer.status(Code.UNAVAILABLE, "STORE_UNAVAILABLE").build();
        server.failures.set(1);
        CrdevalException error = assertThrows(
                CrdevalException.class,
                () -> server.client(CrdevalClient.builder("x")).validate(objects(1)));
        assertEquals("STORE_UNAVAILABLE", error.reason());
        assertEquals(1, server.requests.size());
    }

    @Test
    void decodesErrors() {
        server.failure = FakeServer.status(Code.RESOURCE_EXHAUSTED, "LIMIT_EXCEEDED").build();
        server.failures.set(1);
        CrdevalException error = assertThrows(
                CrdevalException.class,
                () -> server.client(CrdevalClient.builder("x")).validate(objects(1)));
        assertEquals("LIMIT_EXCEEDED: text", error.getMessage());
        assertEquals(Status.Code.RESOURCE_EXHAUSTED, error.code());
        assertEquals(Map.of("limit", "max_document_bytes"), error.metadata());
        assertEquals("items[0]", error.fieldViolations().get(0).getField());
        assertTrue(error.retryDelay().isEmpty());
    }

    @Test
    void keepsTheResultsOfEarlierRequests() {
        server.failsFrom = 2;
        server.failures.set(1);
        CrdevalClient client =
                server.client(CrdevalClient.builder("x").retries(RetryPolicy.NONE));
        CrdevalException error = assertThrows(CrdevalException.class, () -> client.validate(objects(5)));
        assertEquals("OVERLOADED", error.reason());
        assertEquals(
                List.of("{\"i\":0}", "{\"i\":1}"),
                error.verdicts().stream().map(r -> r.get().revision()).toList());
        assertEquals(List.of(), error.transformed());
        assertEquals(List.of(), error.registered());
    }

    @Test
    void throwsWithTheStackOfTheCaller() {
        server.failures.set(1);
        CrdevalClient client =
                server.client(CrdevalClient.builder("x").retries(RetryPolicy.NONE));
        CrdevalException error = assertThrows(CrdevalException.class, () -> client.validate(objects(1)));
        assertTrue(Arrays.stream(error.getStackTrace())
                .anyMatch(frame -> frame.getClassName().equals(CrdevalClientTest.class.getName())));
    }

    @Test
    void sendsCatalogTokenAndInlineCrds() {
        CrdevalClient client = server.client(CrdevalClient.builder("localhost:1").catalog("team").token("secret"));
        client.delete("a.b");
        assertEquals("token of a write", client.token());
        client.withCrds(Document.of("{}")).withCrds(Document.of("kind: A")).validate(objects(1));
        ValidateRequest request = server.requests.get(0);
        assertEquals("team", request.getContext().getCatalog());
        assertEquals("token of a write", request.getContext().getAtLeast());
        assertEquals(2, request.getContext().getCrdsCount());
        assertEquals("kind: A", request.getContext().getCrds(1).getRawYaml().toStringUtf8());
        assertEquals(List.of("Bearer secret"), server.authorization.stream().distinct().toList());
    }

    @Test
    void rejectsWrongAddresses() {
        for (String wrong : List.of(
                "", "localhost", "http://localhost:9090", "https://a:1", "::1", "localhost:", "a:65536", "a:123456")) {
            CrdevalClientBuilder builder = CrdevalClient.builder(wrong);
            assertThrows(IllegalArgumentException.class, builder::build, wrong);
        }
        for (String right : List.of("localhost:1", "[::1]:1", "unix:a", "unix:///a", "dns:///localhost:1")) {
            assertTrue(CrdevalClientBuilder.isTarget(right), right);
        }
    }

    @Test
    void rejectsWrongTokens() {
        for (String token : List.of("s3cret\n", "s3\0cret", "s3crét")) {
            CrdevalClientBuilder builder = CrdevalClient.builder("localhost:1");
            assertThrows(IllegalArgumentException.class, () -> builder.token(token), token);
        }
    }

    @Test
    void takesLongTimeouts() {
        Duration forever = Duration.ofSeconds(Long.MAX_VALUE);
        CrdevalClient client = server.client(CrdevalClient.builder("x").timeout(forever));
        assertTrue(client.withTimeout(forever).validate(objects(1)).get(0).get().allowed());
    }

    @Test
    void saysWhyTheServerIsUnreachable() {
        try (CrdevalClient client = CrdevalClient.builder("127.0.0.1:1").build()) {
            CrdevalException error = assertThrows(CrdevalException.class, client::limits);
            assertEquals(Status.Code.UNAVAILABLE, error.code());
            assertTrue(error.getMessage().contains("Connection refused"), error.getMessage());
        }
    }

    @Test
    void doesNotSendTokensInPlainText() {
        CrdevalClientBuilder builder = CrdevalClient.builder("example.com:9090").token("secret");
        assertThrows(IllegalArgumentException.class, builder::build);
        builder.tls().build().close();
        for (String local : List.of("localhost:9090", "127.0.0.1:1", "[::1]:1", "dns:///localhost:1", "unix:///a")) {
            assertTrue(CrdevalClientBuilder.onThisHost(local), local);
        }
        for (String remote : List.of("localhost.example.com:1", "127.0.0.1.example.com", "10.0.0.1:1", "dns:///a:1")) {
            assertFalse(CrdevalClientBuilder.onThisHost(remote), remote);
        }
    }
}
