/** The client for Node.js, over gRPC or REST. */
import { connect as connectSocket } from "node:net";
import type { SecureClientSessionOptions } from "node:http2";
import { createGrpcTransport, Http2SessionManager } from "@connectrpc/connect-node";
import { BaseClient, type CommonOptions } from "./client.js";
import { onThisHost } from "./options.js";
import { RestTransport, type RestOptions } from "./rest/transport.js";

export * from "./exports.js";
export type { RestOptions } from "./rest/transport.js";

/** GrpcOptions are the options of a client over gRPC. */
export interface GrpcOptions extends CommonOptions {
  /** The address of the service: "localhost:9090" or "unix:///run/crdeval/grpc.sock". */
  address: string;
  /**
   * Connects with TLS. `true` uses the certificate authorities of Node.js; the options are those of node:tls, such as
   * `ca`, `cert` and `key`. Default: plain text, which is only safe on this host.
   */
  tls?: true | SecureClientSessionOptions;
}

/** Messages of more bytes are rejected. The default limit of a server is 64 MiB. */
const maxMessageBytes = 0xffffffff;

/** Client calls a crdeval service over gRPC, or over REST with the option `url`. */
export class Client extends BaseClient {
  constructor(options: GrpcOptions | (RestOptions & CommonOptions)) {
    if (typeof options !== "object" || !("url" in options || "address" in options)) {
      throw new TypeError("the client needs the option address, for gRPC, or url, for REST");
    }
    if ("url" in options) {
      const transport = new RestTransport(options);
      super(transport, options, false, () => transport.close());
      return;
    }
    const { url, session } = target(options);
    const manager = new Http2SessionManager(url, { pingIntervalMs: 60_000, pingTimeoutMs: 20_000 }, session);
    const transport = createGrpcTransport({
      baseUrl: url,
      sessionManager: manager,
      acceptCompression: [],
      readMaxBytes: maxMessageBytes,
    });
    super(transport, options, true, () => manager.abort());
  }
}

function target(o: GrpcOptions): { url: string; session: SecureClientSessionOptions } {
  const session = { ...(o.tls === true ? {} : o.tls) };
  const scheme = o.tls === undefined ? "http" : "https";
  const path = /^unix:(?:\/\/(?=\/))?(.+)$/.exec(o.address)?.[1];
  if (path !== undefined) {
    if (o.tls !== undefined) {
      throw new TypeError(`${o.address}: TLS over unix sockets is not supported: remove the option tls`);
    }
    return { url: "http://localhost", session: { createConnection: () => connectSocket(path) } };
  }
  let url: URL;
  try {
    url = new URL(`${scheme}://${o.address}`);
  } catch {
    throw new TypeError(`the address ${JSON.stringify(o.address)} is not HOST:PORT or unix:PATH`);
  }
  if (url.pathname !== "/" || url.host === "" || o.address.includes("://") || !/:\d+$/.test(o.address)) {
    throw new TypeError(
      `the address ${JSON.stringify(o.address)} is not HOST:PORT or unix:PATH; for REST, use the option url`,
    );
  }
  if (o.token && o.tls === undefined && !onThisHost(url.hostname)) {
    throw new TypeError(`${o.address}: the token would cross the network in plain text: use the option tls`);
  }
  return { url: url.origin, session };
}
