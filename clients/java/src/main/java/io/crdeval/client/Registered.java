package io.crdeval.client;

/**
 * The result of registering one of several manifests.
 *
 * @param crd the name of the CRD. "" if it could not be read from the manifest.
 * @param result whether the CRD was accepted, or the reason why it could not be validated or stored
 */
public record Registered(String crd, Result<Registration> result) {
    static Registered fromProto(io.crdeval.v1.RegisterCrdsResult r) {
        return new Registered(
                r.getCrd(),
                r.hasRegistration()
                        ? new Result.Success<>(Registration.of(r.getRegistration()))
                        : new Result.Failure<>(CrdevalException.of(r.getError())));
    }

    /** Reports whether the CRD is registered now. */
    public boolean accepted() {
        return result instanceof Result.Success<Registration> success && success.value().accepted();
    }
}
