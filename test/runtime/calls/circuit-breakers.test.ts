import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { errorResult } from "../../../src/integrations/tool.ts";
import {
  createCircuitBreakers,
  type Admission,
  type CircuitKey,
  type CircuitBreakers,
  type CallEnding,
} from "../../../src/runtime/calls/circuit-breakers.ts";
import { createWorld, principal, type ThirdParty, type World } from "../world.ts";

const KEY: CircuitKey = { id: 1, keyVersion: 1 };

let clock = 0;
let circuitBreakers: CircuitBreakers;
beforeEach(() => {
  clock = 1_000_000;
  circuitBreakers = createCircuitBreakers({ now: () => clock });
});

/** Admits one call and reports its end. */
function call(ending: CallEnding, key = KEY): Admission["kind"] {
  const admission = circuitBreakers.admit(key);
  if (admission.kind !== "open") circuitBreakers.ended(key, admission, ending);
  return admission.kind;
}

function failTimes(times: number, key = KEY): void {
  for (let count = 0; count < times; count += 1) call("failed", key);
}

describe("a circuit breaker", () => {
  it("opens after five consecutive failures of one connection, for that connection only", () => {
    failTimes(4);
    expect(call("failed")).toBe("closed");
    expect(circuitBreakers.admit(KEY)).toEqual({ kind: "open", nextAttemptAt: new Date(clock + 10_000) });
    expect(circuitBreakers.admit({ id: 2, keyVersion: 1 })).toEqual({ kind: "closed" });
  });

  it("stays closed if a response came between the failures or they took more than a minute", () => {
    failTimes(4);
    call("answered");
    failTimes(4);
    expect(call("unknown")).toBe("closed");
    clock += 60_000;
    failTimes(4);
    expect(call("answered")).toBe("closed");
  });

  it("admits one trial call after the pause and closes when it is answered", () => {
    failTimes(5);
    clock += 9_999;
    expect(circuitBreakers.admit(KEY).kind).toBe("open");
    clock += 1;
    const trial = circuitBreakers.admit(KEY);
    expect(trial.kind).toBe("trial");
    expect(circuitBreakers.admit(KEY).kind).toBe("open");
    circuitBreakers.ended(KEY, trial, "answered");
    expect(circuitBreakers.admit(KEY).kind).toBe("closed");
    failTimes(4);
    expect(circuitBreakers.admit(KEY).kind).toBe("closed");
  });

  it("doubles the pause after each failed trial, up to five minutes", () => {
    failTimes(5);
    const pauses: number[] = [];
    for (let trials = 0; trials < 7; trials += 1) {
      const refused = circuitBreakers.admit(KEY);
      if (refused.kind !== "open") throw new Error("the circuit is not open");
      pauses.push(refused.nextAttemptAt.getTime() - clock);
      clock = refused.nextAttemptAt.getTime();
      expect(call("failed")).toBe("trial");
    }
    expect(pauses).toEqual([10_000, 20_000, 40_000, 80_000, 160_000, 300_000, 300_000]);
  });

  it("admits another trial when the first takes longer than half a minute", () => {
    failTimes(5);
    clock += 10_000;
    expect(circuitBreakers.admit(KEY).kind).toBe("trial");
    clock += 29_000;
    expect(circuitBreakers.admit(KEY).kind).toBe("open");
    clock += 1_000;
    expect(circuitBreakers.admit(KEY).kind).toBe("trial");
  });

  it("admits another trial when the result of the first says nothing about the upstream", () => {
    failTimes(5);
    clock += 10_000;
    expect(call("unknown")).toBe("trial");
    expect(call("unknown")).toBe("trial");
  });

  it("ignores failures of calls that started before it opened, but closes when one of them is answered", () => {
    const [early, late] = [circuitBreakers.admit(KEY), circuitBreakers.admit(KEY)];
    failTimes(5);
    circuitBreakers.ended(KEY, early, "failed");
    expect(circuitBreakers.admit(KEY)).toEqual({ kind: "open", nextAttemptAt: new Date(clock + 10_000) });
    circuitBreakers.ended(KEY, late, "answered");
    expect(circuitBreakers.admit(KEY).kind).toBe("closed");
  });

  it("starts closed for a new key or destination", () => {
    failTimes(5);
    expect(circuitBreakers.admit({ ...KEY, keyVersion: 2 }).kind).toBe("closed");
  });
});

describe("calls through a connection whose upstream fails", () => {
  let world: World;
  let answerAtFirst: ThirdParty["answer"];
  beforeAll(async () => {
    world = await createWorld({ now: () => clock });
    answerAtFirst = world.party.answer;
  });
  afterAll(() => world.close());

  it("fail immediately with the time of the next attempt until a trial succeeds, while other connections work", async () => {
    const account = await world.createAccount();
    const me = principal(account);
    const [broken, sound] = [await world.connect(account, ["echo"]), await world.connect(account, ["sum"])];
    const session = await world.open(me);
    world.party.answer = (received) =>
      received.connectionId === broken.id
        ? Promise.resolve(errorResult("Acme answered 500.", "down"))
        : answerAtFirst(received);
    for (let count = 0; count < 5; count += 1) await world.call(me, session, "echo");
    world.party.received.length = 0;
    expect(await world.call(me, session, "echo")).toBe(
      'error: The connection "Acme" is paused because its upstream failed several calls in a row. ' +
        `Nothing was sent. Try again after ${new Date(clock + 10_000).toISOString()}.`,
    );
    expect(world.party.received).toEqual([]);
    expect(await world.call(me, session, "sum")).toBe(`sum of ${sound.id}`);
    world.party.answer = answerAtFirst;
    clock += 10_000;
    expect(await world.call(me, session, "echo")).toBe(`echo of ${broken.id}`);
    expect(await world.call(me, session, "echo")).toBe(`echo of ${broken.id}`);
  });

  it("that are rate limited do not count, and the trial passes to the next call", async () => {
    const account = await world.createAccount();
    const me = principal(account);
    const broken = await world.connect(account, ["echo"]);
    const session = await world.open(me);
    world.party.answer = () => Promise.resolve(errorResult("Acme answered 500.", "down"));
    for (let count = 0; count < 5; count += 1) await world.call(me, session, "echo");
    clock += 10_000;
    world.party.answer = () => Promise.resolve(errorResult("Acme takes no more calls.", "held_back"));
    for (let count = 0; count < 2; count += 1)
      expect(await world.call(me, session, "echo")).toBe("error: Acme takes no more calls.");
    world.party.answer = answerAtFirst;
    expect(await world.call(me, session, "echo")).toBe(`echo of ${broken.id}`);
  });

  it("that fail in the tool open no circuit", async () => {
    const account = await world.createAccount();
    const me = principal(account);
    await world.connect(account, ["echo"]);
    const session = await world.open(me);
    world.party.answer = () => Promise.resolve(errorResult("The tool says no."));
    for (let count = 0; count < 8; count += 1) {
      expect(await world.call(me, session, "echo")).toBe("error: The tool says no.");
    }
    world.party.answer = () => Promise.resolve(errorResult("The key was refused.", "refused_key"));
    for (let count = 0; count < 8; count += 1) {
      expect(await world.call(me, session, "echo")).toBe("error: The key was refused.");
    }
  });
});
