package io.crdeval.client;

import io.crdeval.v1.CrdReport;
import io.crdeval.v1.RegistrationOutcome;
import java.util.List;
import java.util.Optional;

/**
 * Whether an API server would accept a CustomResourceDefinition, and what a registration did or would do.
 *
 * @param accepted whether the CRD is accepted. If false, nothing was stored.
 * @param outcome whether the CRD was created, updated, unchanged or rejected
 * @param violations the violations for which an API server would reject the CRD
 * @param warnings the warnings of Kubernetes and of crdeval
 * @param rejection what the API server would answer. Empty if the CRD is accepted.
 * @param crd the CRD after the call. Empty unless accepted.
 * @param report the whole report: versions, rules and their cost, conversion rules
 */
public record Registration(
        boolean accepted,
        RegistrationOutcome outcome,
        List<Violation> violations,
        List<Warning> warnings,
        Optional<Rejection> rejection,
        Optional<Crd> crd,
        CrdReport report) {
    static Registration of(boolean accepted, RegistrationOutcome outcome, CrdReport report, Optional<Crd> crd) {
        return new Registration(
                accepted,
                outcome,
                Protos.list(report.getViolationsList(), Violation::fromProto),
                Protos.list(report.getWarningsList(), Warning::fromProto),
                Protos.optional(report.hasRejection(), report::getRejection, Rejection::fromProto),
                crd,
                report);
    }

    static Registration of(io.crdeval.v1.RegisterCrdResponse r) {
        Optional<Crd> crd = Protos.optional(r.hasCrd(), r::getCrd, Crd::fromProto);
        return of(r.getAccepted(), r.getOutcome(), r.getReport(), crd);
    }

    static Registration of(io.crdeval.v1.CheckCrdResponse r) {
        Optional<Crd> crd = Protos.optional(r.hasCrd(), r::getCrd, Crd::fromProto);
        return of(r.getAccepted(), r.getOutcome(), r.getReport(), crd);
    }
}
