/** The client of the crdeval service. Start at {@link io.crdeval.client.CrdevalClient}. */
package io.crdeval.client;
