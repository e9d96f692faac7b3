/** An invalid setting; the message is one line for the operator. */
export class ConfigError extends Error {}

/** The variables of the process, or those of a test. */
export type Environment = Readonly<Record<string, string | undefined>>;

export function textSetting(environment: Environment, name: string): string | undefined {
  const value = environment[name]?.trim();
  return value === undefined || value === "" ? undefined : value;
}

export function listSetting(environment: Environment, name: string): string[] {
  return (textSetting(environment, name) ?? "")
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== "");
}

export function integerSetting(
  environment: Environment,
  name: string,
  fallback: number,
  min: number,
  max: number,
): number {
  const value = textSetting(environment, name);
  if (value === undefined) return fallback;
  const number = /^\d{1,10}$/.test(value) ? Number(value) : NaN;
  if (number >= min && number <= max) return number;
  throw new ConfigError(`${name} is ${JSON.stringify(value)}; it must be a whole number from ${min} to ${max}.`);
}

export function flagSetting(environment: Environment, name: string): boolean {
  return ["true", "1"].includes(wordSetting(environment, name, ["true", "false", "1", "0"], "false"));
}

export function wordSetting<Word extends string>(
  environment: Environment,
  name: string,
  words: readonly Word[],
  fallback: Word,
): Word {
  const value = textSetting(environment, name);
  if (value === undefined) return fallback;
  const known = words.find((one) => one === value);
  if (known !== undefined) return known;
  throw new ConfigError(`${name} is ${JSON.stringify(value)}; it must be one of ${words.join(", ")}.`);
}

export function parseSettingUrl(name: string, value: string, schemes: readonly string[]): URL {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  if (url !== undefined && schemes.includes(url.protocol)) return url;
  // The value is not printed, since a URL may contain a password.
  throw new ConfigError(
    `${name} must be an address that starts with ${schemes.map((one) => `${one}//`).join(" or ")}.`,
  );
}

export function webAddressSetting(environment: Environment, name: string): string | undefined {
  const value = textSetting(environment, name);
  if (value === undefined) return undefined;
  const url = parseSettingUrl(name, value, ["http:", "https:"]);
  if (url.search !== "" || url.hash !== "" || url.username !== "" || (url.pathname !== "/" && url.pathname !== "")) {
    throw new ConfigError(`${name} must be scheme, host and port alone, such as https://patchbay.example.com.`);
  }
  return url.origin;
}

export function databaseAddressSetting(environment: Environment, name: string): string | undefined {
  const value = textSetting(environment, name);
  if (value !== undefined) parseSettingUrl(name, value, ["postgres:", "postgresql:"]);
  return value;
}
