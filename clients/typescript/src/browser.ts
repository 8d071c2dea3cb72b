/** The client for browsers, over REST. */
import { BaseClient, type CommonOptions } from "./client.js";
import { RestTransport, type RestOptions } from "./rest/transport.js";

export * from "./exports.js";
export type { RestOptions } from "./rest/transport.js";

/** Client calls a crdeval service over REST. */
export class Client extends BaseClient {
  constructor(options: RestOptions & CommonOptions) {
    const transport = new RestTransport(options);
    super(transport, options, false, () => transport.close());
  }
}
