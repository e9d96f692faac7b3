import { execFile } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { Ajv } from "ajv";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { PROJECT_FOLDER } from "../support/child-process.ts";

const read = (file: string): string => readFileSync(join(PROJECT_FOLDER, file), "utf8");
const { scripts } = JSON.parse(read("package.json")) as { scripts: { start: string } };
/** The flags of `npm start`. */
const FLAGS = scripts.start.match(/--\S+/g) ?? [];

const hasHelm = await promisify(execFile)("helm", ["version"]).then(
  () => true,
  () => false,
);

describe("the image and the unit", () => {
  test("start Node with the flags of npm start", () => {
    expect(FLAGS.length).toBeGreaterThan(0);
    const entryPoint = /^ENTRYPOINT (.*)$/m.exec(read("deploy/Dockerfile"))?.[1] ?? "[]";
    expect(JSON.parse(entryPoint)).toEqual(["/usr/local/bin/node", ...FLAGS, "src/start.js"]);
    expect(read("deploy/patchbay.service")).toContain(`/node ${FLAGS.join(" ")} src/start.js`);
  });

  test("copy every folder that the service reads at run time", () => {
    const copied = /cp -a package\.json (.*) \/image\/app\//.exec(read("deploy/Dockerfile"))?.[1]?.split(" ") ?? [];
    const folders = globSync("src/{app,transport,storage,integrations}/**/*.ts", { cwd: PROJECT_FOLDER })
      .flatMap((file) => [...read(file).matchAll(/new URL\("(?:\.\.\/)+([a-z]+)\//g)])
      .map(([, folder = ""]) => folder)
      .filter((folder) => ["gen", "openapi", "proto"].includes(folder));
    expect(folders).toContain("openapi");
    expect(copied).toEqual(expect.arrayContaining([...new Set(folders), "src", "node_modules"]));
  });
});

describe("settings in deploy/", () => {
  const settings = new Set(read("src/config.ts").match(/(?<=")[A-Z][A-Z_]+(?=")/g));

  test("are settings of the service", () => {
    const compose = parse(read("deploy/compose.yaml"), { merge: true }) as {
      services: Record<string, { environment?: Record<string, string> }>;
    };
    const named = [
      ...Object.keys(compose.services.patchbay?.environment ?? {}),
      ...[...read("deploy/chart/templates/_helpers.tpl").matchAll(/name: ([A-Z_]{3,}),/g)].map(([, name = ""]) => name),
      ...[...read("deploy/Dockerfile").matchAll(/^ENV (.*)$/gm)].flatMap(([, line = ""]) => line.match(/[A-Z]+(?==)/g)),
    ];
    expect(named).toContain("PATCHBAY_KEYS");
    expect(named.filter((name) => !settings.has(name ?? ""))).toEqual([]);
  });
});

describe("the chart", () => {
  const validate = new Ajv({ allowUnionTypes: true }).compile(
    Object.fromEntries(Object.entries(JSON.parse(read("deploy/chart/values.schema.json"))).slice(1)),
  );
  const values = parse(read("deploy/chart/values.yaml")) as Record<string, unknown>;

  test("accepts its own values and refuses unknown or malformed ones", () => {
    expect(validate(values), JSON.stringify(validate.errors)).toBe(true);
    expect(validate({ ...values, replica: 3 })).toBe(false);
    expect(validate({ ...values, publicUrl: "patchbay.example.com/path" })).toBe(false);
  });

  test.skipIf(!hasHelm)(
    `renders and passes helm lint${hasHelm ? "" : " (skipped: helm is not installed)"}`,
    async () => {
      const run = promisify(execFile);
      const options = { cwd: PROJECT_FOLDER };
      await run("helm", ["lint", "--strict", "deploy/chart"], options);
      const everything = ["--set", "autoscaling.enabled=true", "--set", "ingress.enabled=true"];
      const { stdout } = await run("helm", ["template", "test", "deploy/chart", ...everything], options);
      const kinds = [...stdout.matchAll(/^kind: (.*)$/gm)].map(([, kind]) => kind).sort();
      expect(kinds).toEqual([
        "Deployment",
        "HorizontalPodAutoscaler",
        "Ingress",
        "Job",
        "NetworkPolicy",
        "PodDisruptionBudget",
        "Service",
      ]);
    },
  );
});
