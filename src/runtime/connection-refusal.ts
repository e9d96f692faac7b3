import type { Connection } from "../connections/connection.ts";

/** Why no call goes through a connection now, and what would change that; undefined when calls may go. */
export function connectionRefusal(connection: Connection): string | undefined {
  const reason = connection.statusReason === undefined ? "" : ` ${asSentence(connection.statusReason)}`;
  switch (connection.verificationStatus) {
    case "verified":
      return undefined;
    case "failed":
      return `The connection "${connection.name}" cannot be used: its key failed verification.${reason} Its owner must supply a new key.`;
    case "pending":
      return reason === ""
        ? `The connection "${connection.name}" is still being verified. Try again in a few seconds.`
        : `The connection "${connection.name}" cannot be used until it is verified.${reason} Try again once that is settled.`;
  }
}

function asSentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}
