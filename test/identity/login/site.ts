import { pino } from "pino";
import { createApp } from "../../../src/app/app.ts";
import { openFoundation, type Foundation } from "../../../src/app/foundation.ts";
import { readConfig } from "../../../src/config.ts";
import { createTestDatabase } from "../../support/database.ts";
import { createFormBrowser, type FormBrowser } from "../../support/form-browser.ts";
import { freePort } from "../../support/free-port.ts";
import { createMasterKeys } from "../../support/service.ts";

/** A person who can log in. */
export interface Person {
  readonly accountId: string;
  readonly email: string;
  readonly password: string;
}

/** The service in this process with its own database, for browser tests. */
export interface Site {
  /** The address of the listener. */
  readonly url: string;
  /** `PUBLIC_URL`; by default the listener's address. */
  readonly publicUrl: string;
  readonly foundation: Foundation;
  newPerson(isAdmin?: boolean): Promise<Person>;
  /** A new browser. */
  browser(): FormBrowser;
  /** A browser with a new logged-in person. */
  loggedIn(isAdmin?: boolean): Promise<{ browser: FormBrowser; person: Person }>;
  /** Starts another replica on the same database and returns its address. */
  replica(): Promise<string>;
  query(text: string, values?: readonly unknown[]): Promise<readonly Record<string, unknown>[]>;
  close(): Promise<void>;
}

/** Starts the service with additional settings. */
export async function startSite(settings: Readonly<Record<string, string>> = {}): Promise<Site> {
  const database = await createTestDatabase();
  const log = pino({ level: "silent" });
  const closing: (() => Promise<void>)[] = [];
  const shared = { DATABASE_URL: database.url, PATCHBAY_KEYS: createMasterKeys() };

  async function start(more: Readonly<Record<string, string>>): Promise<{ url: string; publicUrl: string }> {
    const port = await freePort();
    const config = readConfig({ ...shared, PORT: String(port), ...more });
    const app = await createApp(config, log);
    await app.listen();
    closing.unshift(() => app.close());
    return { url: `http://127.0.0.1:${port}`, publicUrl: config.publicUrl };
  }

  const { url, publicUrl } = await start(settings);
  const foundation = await openFoundation(readConfig({ ...shared, PUBLIC_URL: publicUrl }), log, 2);
  let people = 0;
  const site: Site = {
    url,
    publicUrl,
    foundation,
    async newPerson(isAdmin = false) {
      people += 1;
      return foundation.accounts.create({ email: `person${people}@example.com`, isAdmin });
    },
    browser: () => createFormBrowser(url, publicUrl),
    async loggedIn(isAdmin) {
      const person = await site.newPerson(isAdmin);
      const browser = site.browser();
      const { status, text } = await browser.logIn(person.email, person.password);
      if (status !== 303) throw new Error(`logging in answered ${status}: ${text}`);
      return { browser, person };
    },
    replica: async () => (await start({ ...settings, PUBLIC_URL: publicUrl })).url,
    query: async (text, values = []) =>
      (await foundation.database.pool.query<Record<string, unknown>>(text, [...values])).rows,
    async close() {
      for (const close of closing) await close();
      await foundation.close();
      await database.close();
    },
  };
  return site;
}
