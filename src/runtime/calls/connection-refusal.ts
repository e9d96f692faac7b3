import type { Connection } from "../../connections/connection.ts";

/** Returns why no call can be sent through a connection and what to do; undefined if calls can be sent. */
export function connectionRefusal(connection: Connection): string | undefined {
  const reason = connection.statusReason === undefined ? "" : ` ${asSentence(connection.statusReason)}`;
  switch (connection.verificationStatus) {
    case "verified":
      return undefined;
    case "failed":
      if (connection.needsAuthorization) return unauthorized(connection, reason);
      return `The connection "${connection.name}" cannot be used: its key failed verification.${reason} Its owner must supply a new key.`;
    case "pending":
      if (connection.needsAuthorization) return unauthorized(connection, reason);
      return reason === ""
        ? `The connection "${connection.name}" is still being verified. Try again in a few seconds.`
        : `The connection "${connection.name}" cannot be used until it is verified.${reason} Try again after its verification.`;
  }
}

function unauthorized({ name }: Connection, reason: string): string {
  return `The connection "${name}" cannot be used until its owner authorizes it.${reason} Its owner must log in at the vendor.`;
}

function asSentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}
