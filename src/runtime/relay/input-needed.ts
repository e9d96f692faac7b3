import type { InputRequired } from "../../integrations/relayed-client.ts";

/** Thrown instead of a result when the client must answer requests first. Only for callers that set `client.input`. */
export class InputNeeded extends Error {
  readonly required: InputRequired;

  constructor(required: InputRequired) {
    super("The upstream needs input from the client.");
    this.name = "InputNeeded";
    this.required = required;
  }
}
