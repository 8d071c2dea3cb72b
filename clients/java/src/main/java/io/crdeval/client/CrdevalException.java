package io.crdeval.client;

import com.google.protobuf.Any;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Message;
import com.google.rpc.BadRequest;
import com.google.rpc.ErrorInfo;
import com.google.rpc.RetryInfo;
import io.grpc.Status;
import io.grpc.protobuf.StatusProto;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * A call failed, or an item of a call could not be evaluated. It never means that an object is valid or invalid.
 *
 * <p>Programs should read {@link #reason} and {@link #metadata}, not the message.
 */
public class CrdevalException extends RuntimeException {
    private static final String DOMAIN = "crdeval.dev";

    private final transient com.google.rpc.Status status;
    private transient List<Result<Verdict>> verdicts = List.of();
    private transient List<Result<Transformed>> transformed = List.of();
    private transient List<Registered> registered = List.of();

    CrdevalException(com.google.rpc.Status status, Throwable cause) {
        super(text(status), cause);
        this.status = status;
    }

    private static String text(com.google.rpc.Status status) {
        String reason = detail(status, ErrorInfo.class).map(ErrorInfo::getReason).orElseGet(() -> Status.fromCodeValue(
                        status.getCode())
                .getCode()
                .name());
        return reason + ": " + status.getMessage();
    }

    /** Returns the error of an item. */
    static CrdevalException of(com.google.rpc.Status status) {
        return new CrdevalException(status, null);
    }

    /** Returns the error of a call. Its message includes the cause, because gRPC adds details only there. */
    static CrdevalException of(Throwable error) {
        com.google.rpc.Status status = StatusProto.fromThrowable(error);
        if (status == null) {
            status = com.google.rpc.Status.newBuilder()
                    .setCode(Status.Code.UNKNOWN.value())
                    .setMessage(String.valueOf(error.getMessage()))
                    .build();
        }
        Throwable cause = Status.fromThrowable(error).getCause();
        if (status.getDetailsCount() == 0 && cause != null && cause != error) {
            String text = status.getMessage().isEmpty() ? "" : status.getMessage() + ": ";
            status = status.toBuilder().setMessage(text + cause.getMessage()).build();
        }
        return new CrdevalException(status, error);
    }

    /** Returns the gRPC code. */
    public Status.Code code() {
        return Status.fromCodeValue(status.getCode()).getCode();
    }

    /**
     * Returns the reason: a name of {@link io.crdeval.v1.ErrorReason} without its prefix, for example {@code
     * CRD_NOT_FOUND}. It is empty if the error is not from crdeval, for example for a lost connection.
     */
    public String reason() {
        return info().map(ErrorInfo::getReason).orElse("");
    }

    /** Returns the values that belong to the reason, such as {@code crd} or {@code limit}. */
    public Map<String, String> metadata() {
        return info().map(ErrorInfo::getMetadataMap).map(Map::copyOf).orElse(Map.of());
    }

    private Optional<ErrorInfo> info() {
        return detail(ErrorInfo.class).filter(i -> i.getDomain().equals(DOMAIN));
    }

    /** Returns the delay before which the call must not be retried. Empty unless the server gives one. */
    public Optional<Duration> retryDelay() {
        return detail(RetryInfo.class)
                .map(i -> Duration.ofSeconds(
                        i.getRetryDelay().getSeconds(), i.getRetryDelay().getNanos()));
    }

    /** Returns the invalid fields of the request that the server names. */
    public List<BadRequest.FieldViolation> fieldViolations() {
        return detail(BadRequest.class)
                .map(BadRequest::getFieldViolationsList)
                .map(List::copyOf)
                .orElse(List.of());
    }

    /** Returns the first detail of this type: for example a {@link io.crdeval.v1.CrdReport} with CRD_REJECTED. */
    public <M extends Message> Optional<M> detail(Class<M> type) {
        return detail(status, type);
    }

    private static <M extends Message> Optional<M> detail(com.google.rpc.Status status, Class<M> type) {
        for (Any any : status.getDetailsList()) {
            if (any.is(type)) {
                try {
                    return Optional.of(any.unpack(type));
                } catch (InvalidProtocolBufferException e) {
                    return Optional.empty();
                }
            }
        }
        return Optional.empty();
    }

    /** Returns the status of the server with all details. */
    public com.google.rpc.Status status() {
        return status;
    }

    /**
     * Returns the results of the earlier requests, if a later request of {@code validate} or {@code admit} fails.
     * Result i belongs to object i.
     */
    public List<Result<Verdict>> verdicts() {
        return verdicts;
    }

    /**
     * Returns the results of the earlier requests, if a later request of {@code prune}, {@code defaults}, {@code read}
     * or {@code convert} fails.
     */
    public List<Result<Transformed>> transformed() {
        return transformed;
    }

    /** Returns the results of the earlier requests, if a later request of {@code registerAll} fails. */
    public List<Registered> registered() {
        return registered;
    }

    void keepVerdicts(List<Result<Verdict>> results) {
        verdicts = results;
    }

    void keepTransformed(List<Result<Transformed>> results) {
        transformed = results;
    }

    void keepRegistered(List<Registered> results) {
        registered = results;
    }

    /** Reports whether the call had no effect because the server has no free capacity. It may be retried. */
    boolean overloaded() {
        return code() == Status.Code.UNAVAILABLE && reason().equals("OVERLOADED");
    }
}
