import type { UpstreamClient } from "../authorization.ts";

/** A registration is valid at one authorization server for one redirect URI. */
export interface RegistrationPlace {
  readonly issuer: string;
  readonly redirectUri: string;
}

/** Dynamic client registrations (RFC 7591), shared by all accounts. Their secrets are sealed at rest. */
export interface UpstreamClients {
  find(place: RegistrationPlace): Promise<UpstreamClient | undefined>;
  /**
   * Stores a registration and returns the current one: of two replicas that register at once, the first wins.
   * `expiresAt` is when the client's secret expires.
   */
  keep(place: RegistrationPlace, client: UpstreamClient, expiresAt: Date | undefined): Promise<UpstreamClient>;
  /** Deletes a registration that the server no longer knows, unless it was replaced. */
  forget(place: RegistrationPlace, clientId: string): Promise<void>;
}
