import type { UpstreamClient } from "../authorization.ts";

/** Where a registration of ours is good: at one authorization server, for one address to come back to. */
export interface RegistrationPlace {
  readonly issuer: string;
  readonly redirectUri: string;
}

/**
 * Our dynamic registrations (RFC 7591), one a place, shared by every account: they say who Patchbay is, not who uses it. Their
 * secrets are sealed at rest.
 */
export interface UpstreamClients {
  /** The registration that is good now. */
  find(place: RegistrationPlace): Promise<UpstreamClient | undefined>;
  /**
   * Keeps one, and gives the one that is in force: of two replicas that register at once, the first is kept. `expiresAt` is
   * when its secret does.
   */
  keep(place: RegistrationPlace, client: UpstreamClient, expiresAt: Date | undefined): Promise<UpstreamClient>;
  /** Drops one that the server does not know any longer; another that has taken its place stays. */
  forget(place: RegistrationPlace, clientId: string): Promise<void>;
}
