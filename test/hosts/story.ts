import type { JsonObject } from "../../src/json.ts";

/** What every host does with every upstream. */
export const STEPS = ["list", "call", "progress", "cancel", "input"] as const;

export type Step = (typeof STEPS)[number];

export interface StoryCall {
  readonly tool: string;
  readonly arguments: JsonObject;
  /** A part of the result's text. */
  readonly text: string;
}

/** The calls of one upstream. A step without a call is not possible there. */
export interface Story {
  readonly upstream: string;
  /** A tool that must be listed, and succeeds at once. */
  readonly call: StoryCall;
  /** Reports progress three times. */
  readonly progress?: StoryCall;
  /** Does not end before it is canceled. */
  readonly cancel: Omit<StoryCall, "text">;
  /** Asks for a form with one property, `color`, which the person answers with `green`. */
  readonly input?: StoryCall;
}

/** Why a step is not possible, in one word, and how that is known. */
export interface Lack {
  readonly word: string;
  readonly evidence: string;
}
