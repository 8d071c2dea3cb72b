package io.crdeval.client;

import io.grpc.Channel;
import io.grpc.ChannelCredentials;
import io.grpc.ClientInterceptors;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import io.grpc.Metadata;
import io.grpc.TlsChannelCredentials;
import io.grpc.stub.MetadataUtils;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/** Builds a {@link CrdevalClient}. */
public final class CrdevalClientBuilder {
    private static final int MAX_MESSAGE_BYTES = 64 << 20; // the default limit of a server

    private final String target;
    private String catalog = "default";
    private String token = "";
    private ChannelCredentials tls;
    private Duration timeout = Duration.ofMinutes(1);
    private RetryPolicy retries = RetryPolicy.DEFAULT;
    private int maxMessageBytes = MAX_MESSAGE_BYTES;
    private Consumer<ManagedChannelBuilder<?>> configure = b -> {};

    CrdevalClientBuilder(String target) {
        this.target = Objects.requireNonNull(target, "target");
    }

    /** Sets the catalog. Default: {@code default}. */
    public CrdevalClientBuilder catalog(String name) {
        catalog = Objects.requireNonNull(name, "catalog");
        return this;
    }

    /** Connects with TLS and the certificate authorities of Java. Default: plain text, only safe on this host. */
    public CrdevalClientBuilder tls() {
        return tls(TlsChannelCredentials.create());
    }

    /**
     * Connects with these credentials, for example TlsChannelCredentials with a trust manager or a client
     * certificate.
     */
    public CrdevalClientBuilder tls(ChannelCredentials credentials) {
        tls = Objects.requireNonNull(credentials, "credentials");
        return this;
    }

    /**
     * Sends a bearer token with every call. {@link #build} fails if the token would cross the network in plain text.
     *
     * @throws IllegalArgumentException if the token has characters other than printable ASCII
     */
    public CrdevalClientBuilder token(String bearer) {
        if (!bearer.matches("[ -~]*")) {
            throw new IllegalArgumentException(
                    "the token has a character that is not printable ASCII, such as a line feed");
        }
        token = bearer;
        return this;
    }

    /** Sets the time in which each method must end. See {@link CrdevalClient#withTimeout}. Default: one minute. */
    public CrdevalClientBuilder timeout(Duration limit) {
        timeout = CrdevalClient.positive(limit);
        return this;
    }

    /** Sets how calls are repeated while the server is overloaded. Default: {@link RetryPolicy#DEFAULT}. */
    public CrdevalClientBuilder retries(RetryPolicy policy) {
        retries = Objects.requireNonNull(policy, "retries");
        return this;
    }

    /** Sets the largest response in bytes. Default: 64 MiB, the default limit of a server. */
    public CrdevalClientBuilder maxMessageBytes(int bytes) {
        maxMessageBytes = bytes;
        return this;
    }

    /** Changes the channel, after the defaults of the client. */
    public CrdevalClientBuilder channel(Consumer<ManagedChannelBuilder<?>> change) {
        configure = Objects.requireNonNull(change, "change");
        return this;
    }

    /**
     * Returns the client. It does not wait for the connection: if the service is down, the first call fails.
     *
     * @throws IllegalArgumentException if the target is wrong, or if a token would cross the network in plain text
     */
    public CrdevalClient build() {
        if (!isTarget(target)) {
            throw new IllegalArgumentException(
                    "the address \"" + target + "\" is not HOST:PORT or unix:PATH: use the gRPC address of the server");
        }
        if (!token.isEmpty() && tls == null && !onThisHost(target)) {
            throw new IllegalArgumentException(
                    target + ": the token would cross the network in plain text: call tls() too");
        }
        ManagedChannelBuilder<?> builder =
                Grpc.newChannelBuilder(target, tls != null ? tls : InsecureChannelCredentials.create())
                        .maxInboundMessageSize(maxMessageBytes)
                        // Detects a lost server on an idle connection, such as that of a watch.
                        .keepAliveTime(1, TimeUnit.MINUTES)
                        .keepAliveTimeout(20, TimeUnit.SECONDS);
        configure.accept(builder);
        ManagedChannel owned = builder.build();
        return build(owned, owned);
    }

    /** Returns a client over a channel. Closing the client closes {@code owned}. */
    CrdevalClient build(Channel channel, ManagedChannel owned) {
        Channel calls = channel;
        if (!token.isEmpty()) {
            Metadata headers = new Metadata();
            headers.put(Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER), "Bearer " + token);
            calls = ClientInterceptors.intercept(calls, MetadataUtils.newAttachHeadersInterceptor(headers));
        }
        Connection.Timer timer = (pause, task) ->
                CompletableFuture.delayedExecutor(pause.toNanos(), TimeUnit.NANOSECONDS).execute(task);
        return new CrdevalClient(new Connection(calls, catalog, retries, timer), owned, timeout);
    }

    /** Reports whether the target has a port, or a scheme other than http and https. */
    static boolean isTarget(String target) {
        if (target.matches("([^:/\\[\\]]+|\\[.+\\]):\\d+")) {
            String port = target.substring(target.lastIndexOf(':') + 1);
            return port.length() <= 5 && Integer.parseInt(port) <= 65535; // gRPC would wait until the deadline
        }
        return target.matches("(?!https?://)[a-z][a-z0-9+.-]*:.+");
    }

    /** Reports whether traffic to the target stays on this host. */
    static boolean onThisHost(String target) {
        if (target.startsWith("unix:")) {
            return true;
        }
        String host = target.startsWith("dns:///") ? target.substring("dns:///".length()) : target;
        int port = host.lastIndexOf(':');
        boolean bracketed = host.startsWith("[");
        if (bracketed ? port > host.indexOf(']') : port >= 0 && host.indexOf(':') == port) {
            host = host.substring(0, port);
        }
        return host.matches("localhost|127(\\.\\d{1,3}){3}|\\[::1]|::1");
    }
}
