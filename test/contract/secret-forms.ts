/** Every form that a secret might appear in: plain, hex, base64 at each alignment, percent-encoded, reversed. */
export function formsOf(secret: string): readonly string[] {
  const bytes = Buffer.from(secret);
  const base64 = [0, 1, 2].flatMap((offset) => {
    const text = Buffer.concat([Buffer.alloc(offset), bytes]).toString("base64");
    // The first and last characters depend on the text next to the secret.
    const inner = text.slice(offset === 0 ? 0 : 4, -4);
    return [inner, inner.replaceAll("+", "-").replaceAll("/", "_")];
  });
  return [secret, bytes.toString("hex"), encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1), ...base64];
}

/** The names of the secrets that a text contains in any form. */
export function secretsIn(text: string, secrets: ReadonlyMap<string, string>): readonly string[] {
  const lower = text.toLowerCase();
  return [...secrets].flatMap(([name, secret]) => {
    const isHere = formsOf(secret).some(
      (form) => text.includes(form) || (/^[0-9a-f]+$/.test(form) && lower.includes(form)),
    );
    return isHere ? [name] : [];
  });
}
