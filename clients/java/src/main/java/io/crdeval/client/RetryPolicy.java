package io.crdeval.client;

import java.time.Duration;

/**
 * How a client repeats calls that the server rejects with OVERLOADED. Such calls had no effect. The client waits at
 * least for the delay that the server gives. If the pause would exceed the timeout of the call, the call fails with the
 * last error. Other errors and streams are not repeated.
 *
 * @param maxAttempts the attempts of a call, including the first. 1 disables retries.
 * @param firstPause the pause before the second attempt. It doubles with each attempt, and half of it is random.
 * @param maxPause the largest pause, unless the server gives a longer delay
 */
public record RetryPolicy(int maxAttempts, Duration firstPause, Duration maxPause) {
    /** Five attempts, and pauses from 100 ms to 10 s. */
    public static final RetryPolicy DEFAULT = new RetryPolicy(5, Duration.ofMillis(100), Duration.ofSeconds(10));

    /** One attempt. */
    public static final RetryPolicy NONE = new RetryPolicy(1, Duration.ZERO, Duration.ZERO);

    /** Checks the values. */
    public RetryPolicy {
        if (maxAttempts < 1) {
            throw new IllegalArgumentException("maxAttempts is " + maxAttempts + ": it is at least 1");
        }
        if (firstPause.isNegative() || maxPause.compareTo(firstPause) < 0) {
            throw new IllegalArgumentException(
                    "the pauses are " + firstPause + " and " + maxPause + ": 0 <= firstPause <= maxPause is required");
        }
    }

    /**
     * Returns the pause after an attempt.
     *
     * @param attempt the number of the attempt, from 1
     * @param random between 0 and 1
     */
    Duration pause(int attempt, CrdevalException error, double random) {
        double factor = Math.pow(2, attempt - 1.0);
        double pause = Math.min(firstPause.toNanos() * factor, maxPause.toNanos());
        Duration jittered = Duration.ofNanos((long) (pause / 2 + random * pause / 2));
        return error.retryDelay().filter(d -> d.compareTo(jittered) > 0).orElse(jittered);
    }
}
