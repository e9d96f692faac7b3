/** The response to one request. Redirects are not followed. */
export interface PageAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The `Location` header, unchanged. */
  readonly location: string | null;
}

/** A form of a page. */
export interface PageForm {
  readonly action: string;
  readonly fields: Readonly<Record<string, string>>;
}

/** A browser without a screen: keeps cookies and sends the headers that browsers send with forms. */
export interface FormBrowser {
  /** The public address of the site. */
  readonly site: string;
  /** Its cookies, by name. */
  readonly cookies: Map<string, string>;
  get(path: string, headers?: Readonly<Record<string, string>>): Promise<PageAnswer>;
  /** Sends a form from a page of the site. `headers` replaces the default headers. */
  post(
    path: string,
    fields: Readonly<Record<string, string>>,
    headers?: Readonly<Record<string, string>>,
  ): Promise<PageAnswer>;
  send(method: string, path: string, headers: Readonly<Record<string, string>>, body?: string): Promise<PageAnswer>;
  /** Opens the login page, fills in its form and sends it. */
  logIn(email: string, password: string, returnTo?: string): Promise<PageAnswer>;
}

/** The headers that a browser sends with a form of a page of `site`. */
export function fromOwnPage(site: string): Readonly<Record<string, string>> {
  return { origin: new URL(site).origin, "sec-fetch-site": "same-origin", "sec-fetch-mode": "navigate" };
}

const ENTITIES: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', "#39": "'" };

function unescape(text: string): string {
  return text.replaceAll(/&(amp|lt|gt|quot|#39);/g, (_, name: string) => ENTITIES[name] ?? "");
}

/** The forms of a page with their filled-in fields. */
export function formsOf(page: string): readonly PageForm[] {
  return [...page.matchAll(/<form\b([^>]*)>([\s\S]*?)<\/form>/g)].map(([, attributes = "", inside = ""]) => {
    const fields: Record<string, string> = {};
    for (const [, input = ""] of inside.matchAll(/<(?:input|button)\b([^>]*)>/g)) {
      const name = /\bname="([^"]*)"/.exec(input)?.[1];
      if (name !== undefined) fields[name] = unescape(/\bvalue="([^"]*)"/.exec(input)?.[1] ?? "");
    }
    return { action: unescape(/\baction="([^"]*)"/.exec(attributes)?.[1] ?? ""), fields };
  });
}

/** `publicUrl` is the public address of the site, if it differs. */
export function createFormBrowser(site: string, publicUrl: string = site): FormBrowser {
  const cookies = new Map<string, string>();

  async function send(
    method: string,
    path: string,
    headers: Readonly<Record<string, string>>,
    body?: string,
  ): Promise<PageAnswer> {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const response = await fetch(new URL(path, site), {
      method,
      headers: { ...(cookie !== "" && { cookie }), ...headers },
      redirect: "manual",
      ...(body !== undefined && { body }),
    });
    for (const line of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (/; Max-Age=0(;|$)/i.test(line)) cookies.delete(name);
      else cookies.set(name, value);
    }
    const { status, headers: received } = response;
    return { status, headers: received, text: await response.text(), location: received.get("location") };
  }

  const browser: FormBrowser = {
    site: publicUrl,
    cookies,
    send,
    get: (path, headers = {}) => send("GET", path, headers),
    post: (path, fields, headers = fromOwnPage(publicUrl)) =>
      send(
        "POST",
        path,
        { "content-type": "application/x-www-form-urlencoded", ...headers },
        new URLSearchParams(fields).toString(),
      ),
    async logIn(email, password, returnTo) {
      const query = returnTo === undefined ? "" : `?${new URLSearchParams({ return_to: returnTo }).toString()}`;
      const { text } = await browser.get(`/login${query}`);
      const form = formsOf(text).find(({ action }) => action === "/login");
      if (form === undefined) throw new Error(`there is no login form on ${text}`);
      return browser.post("/login", { ...form.fields, email, password });
    },
  };
  return browser;
}
