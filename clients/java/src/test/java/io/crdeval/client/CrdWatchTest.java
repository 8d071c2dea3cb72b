package io.crdeval.client;

import static io.grpc.Status.Code.CANCELLED;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.rpc.Code;
import com.google.rpc.Status;
import io.crdeval.v1.WatchCrdsResponse;
import io.crdeval.v1.WatchEventType;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests of watches. */
@Timeout(60)
class CrdWatchTest {
    private static final Status LOST = FakeServer.overloaded(700);
    private static final Status EXPIRED = FakeServer.status(Code.OUT_OF_RANGE, "WATCH_EXPIRED").build();
    private static final Status DENIED = FakeServer.status(Code.PERMISSION_DENIED, "PERMISSION_DENIED").build();

    private final List<Duration> pauses = new ArrayList<>();
    private FakeServer server;

    @BeforeEach
    void start() throws IOException {
        server = new FakeServer(UUID.randomUUID().toString());
    }

    @AfterEach
    void stop() {
        server.close();
    }

    /** Adds a call with events such as {@code ADDED a 1}: type, name and etag. */
    private void serve(Status error, String token, String... events) {
        List<WatchCrdsResponse> all = new ArrayList<>();
        for (String event : events) {
            String[] parts = event.split(" ");
            WatchCrdsResponse.Builder message = WatchCrdsResponse.newBuilder();
            if (parts[0].equals("UNRECOGNIZED")) {
                message.setTypeValue(99);
            } else {
                message.setType(WatchEventType.valueOf("WATCH_EVENT_TYPE_" + parts[0]));
            }
            if (parts.length > 1) {
                message.getCrdBuilder().setName(parts[1]).setEtag(parts[2]);
            } else {
                message.setToken(token);
            }
            all.add(message.build());
        }
        server.watches.add(new FakeServer.Watched(all, error));
    }

    /** Returns the events up to the permanent error. */
    private List<String> watch(String from) {
        List<String> all = new ArrayList<>();
        try (CrdWatch watch = server.client(RetryPolicy.DEFAULT, pauses).watch(from)) {
            CrdevalException error = assertThrows(CrdevalException.class, () -> {
                while (watch.hasNext()) {
                    CrdEvent event = watch.next();
                    String type = event.type().name().replace("WATCH_EVENT_TYPE_", "");
                    all.add(type + event.crd().map(c -> " " + c.name() + " " + c.etag()).orElse(""));
                }
            });
            all.add(error.reason());
        }
        return all;
    }

    @Test
    void resumesFromTheLastToken() {
        serve(LOST, "t1", "ADDED a 1", "SYNCED");
        serve(LOST, "t2", "MODIFIED a 2", "SYNCED");
        serve(DENIED, "");
        assertEquals(List.of("ADDED a 1", "SYNCED", "MODIFIED a 2", "SYNCED", "PERMISSION_DENIED"), watch(""));
        assertEquals(List.of("", "t1", "t2"), server.watchedFrom);
        assertEquals(List.of(Duration.ofMillis(700), Duration.ofMillis(700)), pauses);
    }

    @Test
    void returnsTheDifferenceIfTheTokenExpired() {
        serve(EXPIRED, "t1", "ADDED a 1", "ADDED b 1", "ADDED c 1", "SYNCED");
        serve(DENIED, "t2", "ADDED a 1", "ADDED b 2", "ADDED d 1", "SYNCED");
        assertEquals(
                List.of(
                        "ADDED a 1", "ADDED b 1", "ADDED c 1", "SYNCED", "MODIFIED b 2", "ADDED d 1", "DELETED c 1",
                        "SYNCED", "PERMISSION_DENIED"),
                watch(""));
        assertEquals(List.of("", ""), server.watchedFrom);
    }

    @Test
    void readsAllAgainIfTheFirstListBreaks() {
        serve(LOST, "", "ADDED a 1");
        serve(DENIED, "t", "ADDED a 1", "ADDED b 1", "SYNCED");
        assertEquals(List.of("ADDED a 1", "ADDED b 1", "SYNCED", "PERMISSION_DENIED"), watch(""));
    }

    @Test
    void returnsEventsOfNewTypes() {
        serve(EXPIRED, "t1", "ADDED a 1", "SYNCED");
        serve(DENIED, "t2", "UNRECOGNIZED", "ADDED a 1", "SYNCED");
        assertEquals(List.of("ADDED a 1", "SYNCED", "UNRECOGNIZED", "SYNCED", "PERMISSION_DENIED"), watch(""));
    }

    @Test
    void throwsExpiryOfTheTokenOfTheCaller() {
        serve(EXPIRED, "");
        assertEquals(List.of("WATCH_EXPIRED"), watch("t0"));
        assertEquals(List.of("t0"), server.watchedFrom);
    }

    @Test
    void backsOff() {
        Status lost = FakeServer.overloaded(0);
        serve(lost, "");
        serve(lost, "");
        serve(DENIED, "");
        watch("");
        assertEquals(2, pauses.size());
        assertEquals(true, pauses.get(0).toMillis() <= 100 && pauses.get(1).toMillis() >= 100, pauses.toString());
    }

    @Test
    void closeEndsAPause() throws Exception {
        serve(LOST, "");
        serve(DENIED, "");
        CountDownLatch paused = new CountDownLatch(1);
        CrdWatch watch = server.client(RetryPolicy.DEFAULT, (pause, task) -> paused.countDown()).watch("");
        CompletableFuture<CrdevalException> error =
                CompletableFuture.supplyAsync(() -> assertThrows(CrdevalException.class, watch::next));
        paused.await();
        watch.close();
        assertEquals(CANCELLED, error.get().code());
    }

    @Test
    void closeComesBeforeTheErrorOfTheCall() {
        for (Status error : List.of(LOST, DENIED)) {
            CrdWatch[] watch = new CrdWatch[1];
            watch[0] = new CrdWatch(
                    "",
                    token -> {
                        watch[0].close();
                        throw CrdevalException.of(error);
                    },
                    (pause, task) -> task.run());
            assertEquals(
                    CANCELLED,
                    assertThrows(CrdevalException.class, watch[0]::next).code());
        }
    }

    @Test
    void endsWhenTheClientIsClosed() {
        CrdevalClient client = CrdevalClient.builder("127.0.0.1:1").build();
        CrdWatch watch = client.watch("");
        client.close();
        assertEquals(
                CANCELLED, assertThrows(CrdevalException.class, watch::next).code());
    }

    @Test
    void endsWithinTheTimeoutOfTheClient() {
        serve(FakeServer.overloaded(7_200_000), "");
        serve(DENIED, "");
        CrdevalClient client = server.client(RetryPolicy.DEFAULT, pauses).withTimeout(Duration.ofHours(1));
        try (CrdWatch watch = client.watch("")) {
            assertThrows(CrdevalException.class, watch::next);
        }
        assertEquals(2, server.deadlines.size());
        assertEquals(server.deadlines.get(0), server.deadlines.get(1));
        assertTrue(pauses.get(0).compareTo(Duration.ofHours(1)) <= 0, pauses.toString());
    }
}
