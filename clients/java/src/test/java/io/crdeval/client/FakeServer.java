package io.crdeval.client;

import com.google.protobuf.Any;
import com.google.protobuf.Duration;
import com.google.rpc.BadRequest;
import com.google.rpc.Code;
import com.google.rpc.ErrorInfo;
import com.google.rpc.RetryInfo;
import com.google.rpc.Status;
import io.crdeval.v1.AdmitStreamRequest;
import io.crdeval.v1.AdmitStreamResponse;
import io.crdeval.v1.DeleteCrdRequest;
import io.crdeval.v1.DeleteCrdResponse;
import io.crdeval.v1.EvaluationServiceGrpc;
import io.crdeval.v1.GetServerInfoRequest;
import io.crdeval.v1.GetServerInfoResponse;
import io.crdeval.v1.RegistryServiceGrpc;
import io.crdeval.v1.ServerLimits;
import io.crdeval.v1.ServerServiceGrpc;
import io.crdeval.v1.ValidateRequest;
import io.crdeval.v1.ValidateResponse;
import io.crdeval.v1.Verdict;
import io.crdeval.v1.VerdictResult;
import io.crdeval.v1.WriteItem;
import io.crdeval.v1.WatchCrdsRequest;
import io.crdeval.v1.WatchCrdsResponse;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptor;
import io.grpc.Deadline;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Server;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.inprocess.InProcessChannelBuilder;
import io.grpc.inprocess.InProcessServerBuilder;
import io.grpc.protobuf.StatusProto;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;

/** A server in the process of the test. Each verdict has the object as its revision. */
final class FakeServer implements AutoCloseable {
    final List<ValidateRequest> requests = Collections.synchronizedList(new ArrayList<>());
    final List<Integer> streamed = Collections.synchronizedList(new ArrayList<>());
    final List<String> authorization = Collections.synchronizedList(new ArrayList<>());
    final List<Deadline> deadlines = Collections.synchronizedList(new ArrayList<>());
    final List<String> watchedFrom = Collections.synchronizedList(new ArrayList<>());
    final Queue<Watched> watches = new ConcurrentLinkedQueue<>();
    final AtomicInteger failures = new AtomicInteger();
    volatile Status failure = overloaded(700);
    volatile int failsFrom = 1;
    volatile boolean silent;
    final CountDownLatch received = new CountDownLatch(1);
    final CountDownLatch cancelled = new CountDownLatch(1);
    volatile ServerLimits limits = ServerLimits.newBuilder()
            .setMaxBatchItems(2)
            .setMaxMessageBytes(64 << 20)
            .build();

    /** One call of WatchCrds: its events, and the error that ends it. */
    record Watched(List<WatchCrdsResponse> events, Status error) {}

    private final Server server;
    private final ManagedChannel channel;

    FakeServer(String name) throws IOException {
        server = InProcessServerBuilder.forName(name)
                .addService(new Evaluation())
                .addService(new Registry())
                .addService(new Info())
                .intercept(new Headers())
                .build()
                .start();
        channel = InProcessChannelBuilder.forName(name).intercept(new Deadlines()).build();
    }

    CrdevalClient client(CrdevalClientBuilder builder) {
        return builder.build(channel, null);
    }

    /** Returns a client that records its pauses instead of sleeping. */
    CrdevalClient client(RetryPolicy retries, List<java.time.Duration> pauses) {
        return client(retries, (pause, task) -> {
            pauses.add(pause);
            task.run();
        });
    }

    CrdevalClient client(RetryPolicy retries, Connection.Timer timer) {
        return new CrdevalClient(
                new Connection(channel, "default", retries, timer), null, java.time.Duration.ofSeconds(20));
    }

    static Status overloaded(int millis) {
        Duration delay = Duration.newBuilder()
                .setSeconds(millis / 1000)
                .setNanos(millis % 1000 * 1_000_000)
                .build();
        return status(Code.UNAVAILABLE, "OVERLOADED")
                .addDetails(Any.pack(RetryInfo.newBuilder().setRetryDelay(delay).build()))
                .build();
    }

    static Status.Builder status(Code code, String reason) {
        return Status.newBuilder()
                .setCode(code.getNumber())
                .setMessage("text")
                .addDetails(Any.pack(ErrorInfo.newBuilder()
                        .setDomain("crdeval.dev")
                        .setReason(reason)
                        .putMetadata("limit", "max_document_bytes")
                        .build()))
                .addDetails(Any.pack(BadRequest.newBuilder()
                        .addFieldViolations(BadRequest.FieldViolation.newBuilder().setField("items[0]"))
                        .build()));
    }

    private boolean fails(StreamObserver<?> observer) {
        if (failures.getAndDecrement() <= 0) {
            return false;
        }
        observer.onError(StatusProto.toStatusRuntimeException(failure));
        return true;
    }

    private static VerdictResult result(WriteItem item) {
        String text = item.getCreate().getObject().getJson().toStringUtf8();
        if (text.contains("error")) {
            return VerdictResult.newBuilder()
                    .setError(status(Code.NOT_FOUND, "CRD_NOT_FOUND"))
                    .build();
        }
        return VerdictResult.newBuilder()
                .setVerdict(Verdict.newBuilder().setAllowed(true).setRevision(text))
                .build();
    }

    private final class Evaluation extends EvaluationServiceGrpc.EvaluationServiceImplBase {
        @Override
        public void validate(ValidateRequest request, StreamObserver<ValidateResponse> observer) {
            requests.add(request);
            if (silent) {
                ((ServerCallStreamObserver<?>) observer).setOnCancelHandler(cancelled::countDown);
                received.countDown();
                return;
            }
            if (requests.size() >= failsFrom && fails(observer)) {
                return;
            }
            ValidateResponse.Builder response = ValidateResponse.newBuilder();
            request.getItemsList().forEach(item -> response.addResults(result(item)));
            observer.onNext(response.build());
            observer.onCompleted();
        }

        @Override
        public StreamObserver<AdmitStreamRequest> admitStream(StreamObserver<AdmitStreamResponse> observer) {
            return new StreamObserver<>() {
                @Override
                public void onNext(AdmitStreamRequest request) {
                    if (request.getItemsCount() == 0) {
                        return;
                    }
                    streamed.add(request.getItemsCount());
                    if (fails(observer)) {
                        return;
                    }
                    AdmitStreamResponse.Builder response = AdmitStreamResponse.newBuilder();
                    request.getItemsList().forEach(item -> response.addResults(result(item)));
                    observer.onNext(response.build());
                }

                @Override
                public void onError(Throwable error) {}

                @Override
                public void onCompleted() {
                    observer.onCompleted();
                }
            };
        }
    }

    private final class Registry extends RegistryServiceGrpc.RegistryServiceImplBase {
        /** Sends the events of the next watch, and then its error. */
        @Override
        public void watchCrds(WatchCrdsRequest request, StreamObserver<WatchCrdsResponse> observer) {
            watchedFrom.add(request.getFromToken());
            Watched watched = watches.remove();
            watched.events().forEach(observer::onNext);
            observer.onError(StatusProto.toStatusRuntimeException(watched.error()));
        }

        @Override
        public void deleteCrd(DeleteCrdRequest request, StreamObserver<DeleteCrdResponse> observer) {
            observer.onNext(DeleteCrdResponse.newBuilder().setToken("token of a write").build());
            observer.onCompleted();
        }
    }

    private final class Info extends ServerServiceGrpc.ServerServiceImplBase {
        @Override
        public void getServerInfo(GetServerInfoRequest request, StreamObserver<GetServerInfoResponse> observer) {
            observer.onNext(GetServerInfoResponse.newBuilder().setLimits(limits).build());
            observer.onCompleted();
        }
    }

    private final class Deadlines implements ClientInterceptor {
        @Override
        public <Q, P> ClientCall<Q, P> interceptCall(MethodDescriptor<Q, P> method, CallOptions options, Channel next) {
            deadlines.add(options.getDeadline());
            return next.newCall(method, options);
        }
    }

    private final class Headers implements ServerInterceptor {
        @Override
        public <Q, P> ServerCall.Listener<Q> interceptCall(
                ServerCall<Q, P> call, Metadata headers, ServerCallHandler<Q, P> next) {
            authorization.add(
                    String.valueOf(headers.get(Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER))));
            return next.startCall(call, headers);
        }
    }

    @Override
    public void close() {
        channel.shutdownNow();
        server.shutdownNow();
    }
}
