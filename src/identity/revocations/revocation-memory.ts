import type { Principal } from "../principal.ts";
import { REVOCATION_KINDS, type Revocation, type RevocationKind } from "./revocation.ts";
import { issuedAtMicros, type Micros } from "../token-id.ts";

/** The revocations that a replica knows. It forgets one only when that has expired, never because the database lost it. */
export interface RevocationMemory {
  /** Adds one. A broader revocation stays as it is, unless the new one is narrowing. */
  add(revocation: Revocation): void;
  /**
   * Adds all rows in force, then what `arrived` since they were read, and forgets what has expired. Returns how many known
   * revocations are in neither: a standby that was promoted lacks what had not reached it.
   */
  merge(rows: readonly Revocation[], arrived: readonly Revocation[]): number;
  /** Whether the principal's token is refused. */
  refuses(principal: Principal): boolean;
}

interface Known {
  readonly before: Micros;
  /** The database's moment of the newest row; -Infinity until the database has told one. */
  readonly revokedAt: Micros;
  /** Undefined until the database has told it. */
  readonly expiresAt: Micros | undefined;
}

/** A revocation outlives its row by this much, since the clocks of replica and database differ. */
const CLOCK_MARGIN: Micros = 600_000_000;

/**
 * Only enabling an account again narrows a revocation. A row tells of that by having been written no earlier than what is
 * known; an older one comes from a database that lost the newer one.
 */
function narrows(known: Known, { kind, revokedAt, isNarrowing = false }: Revocation): boolean {
  return isNarrowing || (kind === "account" && revokedAt !== undefined && revokedAt >= known.revokedAt);
}

function later(known: Micros | undefined, other: Micros | undefined): Micros | undefined {
  return known === undefined || other === undefined ? (known ?? other) : Math.max(known, other);
}

function combine(known: Known | undefined, revocation: Revocation): Known {
  const { before = Infinity, revokedAt = -Infinity, expiresAt } = revocation;
  if (known === undefined) return { before, revokedAt, expiresAt };
  const isNarrower = narrows(known, revocation);
  return {
    before: isNarrower ? before : Math.max(known.before, before),
    revokedAt: Math.max(known.revokedAt, revokedAt),
    expiresAt: isNarrower ? expiresAt : later(known.expiresAt, expiresAt),
  };
}

/** Creates an empty memory. */
export function createRevocationMemory(): RevocationMemory {
  const byKind: Readonly<Record<RevocationKind, Map<string, Known>>> = {
    token: new Map(),
    client: new Map(),
    connection: new Map(),
    account: new Map(),
    grant: new Map(),
  };

  function add(revocation: Revocation): void {
    const known = byKind[revocation.kind];
    known.set(revocation.subject, combine(known.get(revocation.subject), revocation));
  }

  const boundOf = (kind: RevocationKind, subject: string): Micros => byKind[kind].get(subject)?.before ?? -Infinity;

  function accountBound({ accountId, clientId }: Principal): Micros {
    const bound = boundOf("account", accountId);
    return bound < Infinity && clientId.startsWith("pat_") ? -Infinity : bound;
  }

  return {
    add,
    merge(rows, arrived) {
      const now = Date.now() * 1_000;
      const present = new Set([...rows, ...arrived].map(({ kind, subject }) => `${kind}/${subject}`));
      let lost = 0;
      for (const kind of REVOCATION_KINDS) {
        for (const [subject, { expiresAt = Infinity }] of byKind[kind]) {
          if (present.has(`${kind}/${subject}`)) continue;
          if (expiresAt + CLOCK_MARGIN < now) byKind[kind].delete(subject);
          else if (expiresAt - CLOCK_MARGIN > now) lost += 1;
        }
      }
      for (const revocation of [...rows, ...arrived]) add(revocation);
      return lost;
    },
    refuses(principal) {
      const bound = Math.max(
        boundOf("token", principal.tokenId),
        boundOf("client", principal.clientId),
        accountBound(principal),
        principal.grantId === undefined ? -Infinity : boundOf("grant", principal.grantId),
        principal.connectionId === undefined ? -Infinity : boundOf("connection", String(principal.connectionId)),
      );
      return bound > -Infinity && issuedAtMicros(principal.tokenId, principal.issuedAt) <= bound;
    },
  };
}
