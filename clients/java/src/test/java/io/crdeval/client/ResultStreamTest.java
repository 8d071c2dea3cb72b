package io.crdeval.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.Iterator;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests of streams. */
@Timeout(60)
class ResultStreamTest {
    private FakeServer server;
    private CrdevalClient client;

    @BeforeEach
    void start() throws IOException {
        server = new FakeServer(UUID.randomUUID().toString());
        client = server.client(CrdevalClient.builder("x"));
    }

    @AfterEach
    void stop() {
        server.close();
    }

    private static Stream<Write> writes(int count) {
        return IntStream.range(0, count).mapToObj(i -> Write.create(Document.of("{\"i\":" + i + "}")));
    }

    @Test
    void keepsTheOrder() {
        try (ResultStream<Result<Verdict>> results = client.admitStream(writes(1000).iterator())) {
            for (int i = 0; i < 1000; i++) {
                assertEquals("{\"i\":" + i + "}", results.next().get().revision());
            }
            assertFalse(results.hasNext());
            assertFalse(results.hasNext());
        }
        assertTrue(server.streamed.stream().allMatch(n -> n <= 100), server.streamed.toString());
    }

    @Test
    void answersASingleItemAtOnce() {
        CountDownLatch answered = new CountDownLatch(1);
        Iterator<Write> slow = new Iterator<>() {
            private int next;

            @Override
            public boolean hasNext() {
                return next < 2;
            }

            @Override
            public Write next() {
                if (next++ == 1) {
                    try {
                        answered.await();
                    } catch (InterruptedException e) {
                        Thread.currentThread().interrupt();
                    }
                }
                return Write.create(Document.of("{}"));
            }
        };
        try (ResultStream<Result<Verdict>> results = client.admitStream(slow)) {
            results.next();
            answered.countDown();
            results.next();
            assertFalse(results.hasNext());
        }
        assertEquals(List.of(1, 1), server.streamed);
    }

    @Test
    void stopsReadingWhileTheCallerDoesNotRead() throws InterruptedException {
        AtomicInteger read = new AtomicInteger();
        try (ResultStream<Result<Verdict>> results =
                client.admitStream(writes(1_000_000).peek(w -> read.incrementAndGet()).iterator())) {
            results.next();
            TimeUnit.MILLISECONDS.sleep(200);
            // Two messages, a full queue, and the item that waits for the queue. The first message is answered.
            assertTrue(read.get() <= 500, read + " items were read");
        }
    }

    @Test
    void throwsTheErrorAfterTheResults() {
        server.failures.set(1);
        try (ResultStream<Result<Verdict>> results = client.admitStream(writes(1000).iterator())) {
            CrdevalException error = assertThrows(CrdevalException.class, results::next);
            assertEquals("OVERLOADED", error.reason());
            assertThrows(CrdevalException.class, results::hasNext);
        }
    }

    @Test
    void throwsTheErrorOfTheIterator() {
        Stream<Write> broken = Stream.concat(writes(1), Stream.of(1).map(i -> {
            throw new IllegalStateException("no file");
        }));
        try (ResultStream<Result<Verdict>> results = client.admitStream(broken.iterator())) {
            assertThrows(IllegalStateException.class, () -> results.forEachRemaining(r -> {}));
        }
    }

    @Test
    void endsAfterAnErrorOfTheVirtualMachineInTheIterator() {
        Stream<Write> broken = writes(1).peek(w -> {
            throw new StackOverflowError();
        });
        try (ResultStream<Result<Verdict>> results = client.admitStream(broken.iterator())) {
            assertThrows(IllegalStateException.class, () -> results.forEachRemaining(r -> {}));
        }
    }

    @Test
    void endsTheReaderWhenTheStreamIsClosed() throws InterruptedException {
        Thread[] reader = new Thread[1];
        try (ResultStream<Result<Verdict>> results = client.admitStream(writes(1_000_000)
                .peek(w -> reader[0] = Thread.currentThread())
                .iterator())) {
            results.next();
        }
        reader[0].join(); // the time limit of the test ends it otherwise
    }
}
