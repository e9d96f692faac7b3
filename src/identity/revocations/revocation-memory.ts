import type { Principal } from "../principal.ts";
import { REVOCATION_KINDS, type Revocation, type RevocationKind } from "./revocation.ts";
import { issuedAtMicros, type Micros } from "../token-id.ts";

/** The revocations that a replica knows. It removes one only after its expiry, even if the database lost it. */
export interface RevocationMemory {
  /** Adds a revocation. Only a narrowing one reduces a broader one. */
  add(revocation: Revocation): void;
  /**
   * Adds all current rows and those that `arrived` since the query, and removes expired ones. Returns the number of
   * known revocations that are missing in both, for example after the promotion of a standby that lacks them.
   */
  merge(rows: readonly Revocation[], arrived: readonly Revocation[]): number;
  refuses(principal: Principal): boolean;
}

interface Known {
  readonly before: Micros;
  /** When the database stored the newest row; -Infinity while unknown. */
  readonly revokedAt: Micros;
  /** Undefined while unknown. */
  readonly expiresAt: Micros | undefined;
}

/** Revocations stay this much longer than their rows, because clocks differ. */
const CLOCK_MARGIN: Micros = 600_000_000;

/**
 * Only enabling an account narrows a revocation, and only by a row at least as new as the known one. An older row means
 * that the database lost the newer one.
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

  function accountBound({ accountId, memberId, clientId }: Principal): Micros {
    const own = boundOf("account", accountId);
    const bound = memberId === undefined ? own : Math.max(own, boundOf("account", memberId));
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
