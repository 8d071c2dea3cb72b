package io.crdeval.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.Status;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Tests of asynchronous calls. CrdevalClientTest and the scenarios test them too: blocking calls wait for them. */
class AsyncCrdevalClientTest {
    private static final Document OBJECT = Document.of("{}");
    private FakeServer server;

    @BeforeEach
    void start() throws IOException {
        server = new FakeServer(UUID.randomUUID().toString());
    }

    @AfterEach
    void stop() {
        server.close();
    }

    private static CrdevalException errorOf(CompletableFuture<?> future) {
        ExecutionException error = assertThrows(ExecutionException.class, () -> future.get(60, TimeUnit.SECONDS));
        return assertInstanceOf(CrdevalException.class, error.getCause());
    }

    @Test
    void returnsBeforeTheServerAnswers() throws Exception {
        server.silent = true;
        CompletableFuture<List<Result<Verdict>>> future =
                server.client(CrdevalClient.builder("x")).async().validate(OBJECT);
        assertTrue(server.received.await(60, TimeUnit.SECONDS), "the server did not receive the request");
        assertFalse(future.isDone());
        assertTrue(future.cancel(true));
        assertTrue(server.cancelled.await(60, TimeUnit.SECONDS), "the server did not see the cancellation");
    }

    @Test
    void completesBatches() throws Exception {
        AsyncCrdevalClient client =
                server.client(CrdevalClient.builder("x")).async();
        CompletableFuture<List<Result<Verdict>>> first = client.validate(OBJECT, OBJECT, OBJECT);
        CompletableFuture<List<Result<Verdict>>> second = client.validate(OBJECT);
        CompletableFuture<Integer> both =
                first.thenCombine(second, (a, b) -> a.size() + b.size());
        assertEquals(4, both.get(60, TimeUnit.SECONDS));
        assertEquals(3, server.requests.size());
    }

    @Test
    void retriesAfterTheDelayOfTheServer() throws Exception {
        server.failures.set(2);
        List<Duration> pauses = new ArrayList<>();
        AsyncCrdevalClient client = server.client(RetryPolicy.DEFAULT, pauses).async();
        assertTrue(client.validate(OBJECT).get(60, TimeUnit.SECONDS).get(0).get().allowed());
        assertEquals(List.of(Duration.ofMillis(700), Duration.ofMillis(700)), pauses);
    }

    @Test
    void endsAtTheDeadline() {
        server.silent = true;
        CrdevalClient client =
                server.client(CrdevalClient.builder("x").timeout(Duration.ofMillis(50)));
        assertEquals(
                Status.Code.DEADLINE_EXCEEDED,
                errorOf(client.async().validate(OBJECT)).code());
        assertEquals(
                Status.Code.DEADLINE_EXCEEDED,
                errorOf(client.withTimeout(Duration.ofMillis(20)).async().validate(OBJECT)).code());
    }

    @Test
    void failsWithTheResultsOfEarlierRequests() {
        server.failsFrom = 2;
        server.failures.set(9);
        AsyncCrdevalClient client = server.client(RetryPolicy.NONE, new ArrayList<>()).async();
        CrdevalException error = errorOf(client.validate(OBJECT, OBJECT, OBJECT));
        assertEquals("OVERLOADED", error.reason());
        assertEquals(2, error.verdicts().size());
    }

    @Test
    void interruptionCancelsBlockingCalls() throws Exception {
        server.silent = true;
        CrdevalClient client = server.client(CrdevalClient.builder("x"));
        Thread.currentThread().interrupt();
        CrdevalException error = assertThrows(CrdevalException.class, () -> client.validate(OBJECT));
        assertTrue(Thread.interrupted());
        assertEquals(Status.Code.CANCELLED, error.code());
    }
}
