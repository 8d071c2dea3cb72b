import { Code, ConnectError } from "@connectrpc/connect";
import type { Crd } from "./gen/crdeval/v1/registry_pb.js";
import { type WatchCrdsResponse, WatchEventType } from "./gen/crdeval/v1/registry_pb.js";
import { CrdevalError } from "./error.js";
import { cancelled, jitter, overloadDelayMs, sleep } from "./retry.js";

/** WatchEvent is a change of a CRD, or SYNCED: all CRDs or changes up to now were returned. */
export interface WatchEvent {
  readonly type: "ADDED" | "MODIFIED" | "DELETED" | "SYNCED";
  /** The CRD, for DELETED its last state. Undefined with SYNCED. */
  readonly crd: Crd | undefined;
  /** The token to resume from. "" before SYNCED in a watch without a token. */
  readonly token: string;
}

const firstPauseMs = 100;
const longPauseMs = 10_000;

/**
 * Watch yields events and reconnects. If the server no longer knows the token, a watch that began with every CRD
 * reads all CRDs again, and yields the differences. A watch that began from a token then fails. An aborted watch fails
 * with CANCELLED.
 */
export class Watch {
  private readonly known: Map<string, Crd> | undefined;
  private relists = false;
  private listed = new Set<string>();

  constructor(
    private readonly open: (token: string) => AsyncIterable<WatchCrdsResponse>,
    private token: string,
    private readonly signal: AbortSignal | undefined,
  ) {
    this.known = token === "" ? new Map() : undefined;
  }

  async *events(): AsyncGenerator<WatchEvent, void, undefined> {
    for (let pause = firstPauseMs; ; pause = Math.min(2 * pause, longPauseMs)) {
      let failure: unknown = new ConnectError("the watch ended", Code.Unavailable);
      try {
        this.relists = this.token === "";
        this.listed = new Set();
        for await (const event of this.open(this.token)) {
          pause = firstPauseMs;
          yield* this.take(event);
        }
      } catch (error) {
        failure = error;
      }
      if (this.signal?.aborted) {
        throw CrdevalError.from(cancelled(this.signal));
      }
      const known = CrdevalError.from(failure);
      if (!(known instanceof CrdevalError)) {
        throw known;
      }
      if (this.known !== undefined && (known.reason === "WATCH_EXPIRED" || known.reason === "TOKEN_INVALID")) {
        this.token = "";
      } else if (known.code !== "UNAVAILABLE") {
        throw known;
      }
      await sleep(Math.max(jitter(pause), overloadDelayMs(failure) ?? 0), this.signal).catch((error: unknown) => {
        throw CrdevalError.from(error);
      });
    }
  }

  /** take returns the events for an event of the server, without those that are already known. */
  private *take(event: WatchCrdsResponse): Generator<WatchEvent, void, undefined> {
    this.token = event.token || this.token;
    let type = event.type;
    const name = event.crd?.name ?? "";
    const before = this.known?.get(name);
    if (this.known !== undefined) {
      if (event.crd !== undefined && (type === WatchEventType.ADDED || type === WatchEventType.MODIFIED)) {
        this.known.set(name, event.crd);
        this.listed.add(name);
        if (before !== undefined && before.etag !== "" && before.etag === event.crd.etag) {
          return;
        }
        if (before !== undefined) {
          type = WatchEventType.MODIFIED;
        }
      } else if (type === WatchEventType.DELETED) {
        if (before === undefined) {
          return;
        }
        this.known.delete(name);
      } else if (type === WatchEventType.SYNCED && this.relists) {
        yield* this.missing(this.known);
        this.relists = false;
      }
    }
    const names = WatchEventType[type] as WatchEvent["type"] | "UNSPECIFIED" | undefined;
    if (names !== undefined && names !== "UNSPECIFIED") {
      yield { type: names, crd: event.crd, token: event.token };
    }
  }

  /** missing returns DELETED for known CRDs that were not listed again. */
  private *missing(known: Map<string, Crd>): Generator<WatchEvent, void, undefined> {
    for (const name of [...known.keys()].sort()) {
      const crd = known.get(name);
      if (!this.listed.has(name)) {
        known.delete(name);
        yield { type: "DELETED", crd, token: "" };
      }
    }
  }
}
