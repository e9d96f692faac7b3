import { randomBytes } from "node:crypto";
import type pg from "pg";
import type {
  AuthorizationStore,
  StartedAuthorization,
} from "../../../connections/authorization/authorization-store.ts";
import type { SealedPlace, Sealer } from "../../sealing.ts";
import { runStatement } from "../run-statement.ts";
import { fieldsOf, textOf, toTerms } from "./sealed-terms.ts";

/** Tickets of one connection that may wait at once; the oldest gives way. */
const MAX_WAITING = 20;

const ISSUE = {
  name: "authorization_request_issue",
  text: `with crowded as (
      delete from authorization_request where (account_id, id) in (
        select account_id, id from authorization_request where account_id = $1 and connection_id = $3
        order by expires_at desc offset ${MAX_WAITING - 1}))
    insert into authorization_request (account_id, id, connection_id, ticket_hash, expires_at)
    select account_id, $2, id, $4, date_trunc('milliseconds', now()) + make_interval(secs => $5)
    from connection where account_id = $1 and id = $3
    returning expires_at`,
};
const FIND = {
  name: "authorization_request_find",
  text: `select request.id, request.connection_id, connection.wanted_scope
    from authorization_request as request
      join connection on connection.account_id = request.account_id and connection.id = request.connection_id
    where request.account_id = $1 and request.ticket_hash = $2 and request.state_hash is null and request.expires_at > now()`,
};
// Of two at once on one row the second waits for the first and then finds the state set.
const BEGIN = {
  name: "authorization_request_begin",
  text: `update authorization_request set session_id = $3, state_hash = $4, key_version = $5, sealed_flow = $6,
      expires_at = now() + make_interval(secs => $7)
    where account_id = $1 and id = $2 and state_hash is null and expires_at > now()`,
};
const TAKE = {
  name: "authorization_request_take",
  text: `delete from authorization_request
    where account_id = $1 and session_id = $2 and state_hash = $3 and expires_at > now()
    returning id, connection_id, key_version, sealed_flow`,
};

interface BegunRow {
  id: string;
  connection_id: number;
  key_version: number;
  sealed_flow: Buffer;
}

/** Where the terms and the PKCE verifier of an authorization are sealed to. */
export function flowPlace(accountId: string, id: string): SealedPlace {
  return { table: "authorization_request", column: "sealed_flow", accountId, rowId: id };
}

/** Authorizations under way in PostgreSQL. The sweep deletes those that nobody came back for. */
export function createAuthorizationStore(deps: {
  readonly pool: pg.Pool;
  readonly sealer: Sealer;
}): AuthorizationStore {
  const { pool, sealer } = deps;

  function seal(accountId: string, id: string, { terms, codeVerifier }: StartedAuthorization): Buffer {
    return sealer.seal(JSON.stringify({ terms, codeVerifier }), flowPlace(accountId, id));
  }

  function toBegun(accountId: string, row: BegunRow): StartedAuthorization {
    const opened = fieldsOf(JSON.parse(sealer.open(row.sealed_flow, flowPlace(accountId, row.id))));
    return {
      connectionId: row.connection_id,
      keyVersion: row.key_version,
      terms: toTerms(fieldsOf(opened.terms)),
      codeVerifier: textOf(opened.codeVerifier),
    };
  }

  return {
    async issue(accountId, connectionId, ticketHash, lifetimeSeconds) {
      const values = [accountId, randomBytes(16).toString("base64url"), connectionId, ticketHash, lifetimeSeconds];
      const { rows } = await runStatement<{ expires_at: Date }>(pool, { ...ISSUE, values });
      return rows[0]?.expires_at;
    },
    async find(accountId, ticketHash) {
      const { rows } = await runStatement<{ id: string; connection_id: number; wanted_scope: string | null }>(pool, {
        ...FIND,
        values: [accountId, ticketHash],
      });
      const [row] = rows;
      return row && { id: row.id, connectionId: row.connection_id, wantedScope: row.wanted_scope ?? undefined };
    },
    async start(accountId, id, begun, lifetimeSeconds) {
      const { sessionId, stateHash, keyVersion } = begun;
      const values = [accountId, id, sessionId, stateHash, keyVersion, seal(accountId, id, begun), lifetimeSeconds];
      return (await runStatement(pool, { ...BEGIN, values })).rowCount === 1;
    },
    async consume(accountId, sessionId, stateHash) {
      const { rows } = await runStatement<BegunRow>(pool, { ...TAKE, values: [accountId, sessionId, stateHash] });
      const [row] = rows;
      return row && toBegun(accountId, row);
    },
  };
}
