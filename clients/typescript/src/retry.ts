import type { DescMessage, DescMethodStreaming, DescMethodUnary, MessageInitShape } from "@bufbuild/protobuf";
import { Code, ConnectError, type StreamResponse, type Transport, type UnaryResponse } from "@connectrpc/connect";
import { CrdevalError } from "./error.js";

/** RetryOptions configure the retries of calls that an overloaded server rejects. Such calls had no effect. */
export interface RetryOptions {
  /** The maximum number of attempts, including the first. 1 disables retries. Default: 5. */
  maxAttempts?: number;
  /** The pause before the second attempt. It doubles with each attempt, and half of it is random. Default: 100. */
  firstPauseMs?: number;
  /** The maximum pause, except that a pause is at least the retry delay of the server. Default: 10,000. */
  maxPauseMs?: number;
}

/** Caller is the transport of a client. It adds the bearer token, and repeats calls that fail with OVERLOADED. */
export class Caller implements Transport {
  /** Whether all further calls fail. */
  closed = false;
  private readonly maxAttempts: number;
  private readonly firstPauseMs: number;
  private readonly maxPauseMs: number;

  constructor(
    private readonly transport: Transport,
    private readonly token: string | undefined,
    retries: RetryOptions = {},
  ) {
    if (token !== undefined && !/^[ -~]*$/.test(token)) {
      throw new TypeError("the token has a character that is not printable ASCII, such as a line feed");
    }
    this.maxAttempts = retries.maxAttempts ?? 5;
    this.firstPauseMs = retries.firstPauseMs ?? 100;
    this.maxPauseMs = retries.maxPauseMs ?? 10_000;
    for (const [name, value] of Object.entries(retries)) {
      if (value !== undefined && !(value >= (name === "maxAttempts" ? 1 : 0))) {
        throw new RangeError(`retries.${name} is ${value}: it must be at least ${name === "maxAttempts" ? 1 : 0}`);
      }
    }
  }

  async unary<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    signal: AbortSignal | undefined,
    timeoutMs: number | undefined,
    header: HeadersInit | undefined,
    input: MessageInitShape<I>,
  ): Promise<UnaryResponse<I, O>> {
    const deadline = timeoutMs === undefined ? Infinity : Date.now() + timeoutMs;
    let pause = Math.min(this.firstPauseMs, this.maxPauseMs);
    for (let attempt = 1; ; attempt++) {
      const left = deadline === Infinity ? undefined : remaining(deadline);
      try {
        return await this.transport.unary(method, signal, left, this.headers(header), input);
      } catch (error) {
        const delay = overloadDelayMs(error);
        const wait = Math.max(jitter(pause), delay ?? 0);
        if (delay === undefined || attempt >= this.maxAttempts || Date.now() + wait >= deadline) {
          throw error;
        }
        await sleep(wait, signal);
        pause = Math.min(2 * pause, this.maxPauseMs);
      }
    }
  }

  async stream<I extends DescMessage, O extends DescMessage>(
    method: DescMethodStreaming<I, O>,
    signal: AbortSignal | undefined,
    timeoutMs: number | undefined,
    header: HeadersInit | undefined,
    input: AsyncIterable<MessageInitShape<I>>,
  ): Promise<StreamResponse<I, O>> {
    return this.transport.stream(method, signal, timeoutMs, this.headers(header), input);
  }

  private headers(given: HeadersInit | undefined): Headers {
    if (this.closed) {
      throw new ConnectError("the client is closed", Code.Canceled);
    }
    const headers = new Headers(given);
    if (this.token) {
      headers.set("authorization", `Bearer ${this.token}`);
    }
    return headers;
  }
}

/** remaining returns the milliseconds to a deadline. It throws DEADLINE_EXCEEDED after it. */
export function remaining(deadline: number): number {
  const left = deadline - Date.now();
  if (left <= 0) {
    throw new ConnectError(
      "the deadline of the call passed: allow more time, or send fewer objects",
      Code.DeadlineExceeded,
    );
  }
  return left;
}

/** overloadDelayMs returns the retry delay of an OVERLOADED error, 0 if it has none, and undefined for other errors. */
export function overloadDelayMs(error: unknown): number | undefined {
  const known = CrdevalError.from(error);
  const overloaded = known instanceof CrdevalError && known.code === "UNAVAILABLE" && known.reason === "OVERLOADED";
  return overloaded ? (known.retryDelayMs ?? 0) : undefined;
}

/** jitter returns a random duration between half of ms and ms. */
export function jitter(ms: number): number {
  return ms / 2 + Math.random() * (ms / 2);
}

/** cancelled returns the error of a call that its signal aborts. */
export function cancelled(signal: AbortSignal | undefined): ConnectError {
  return new ConnectError("the call was cancelled", Code.Canceled, undefined, undefined, signal?.reason);
}

/** sleep waits, or throws CANCELLED when the signal aborts. */
export function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(cancelled(signal));
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, ms);
    if (signal?.aborted) {
      stop();
    } else {
      signal?.addEventListener("abort", stop, { once: true });
    }
  });
}
