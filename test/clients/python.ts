import { globSync } from "node:fs";
import { join } from "node:path";
import { PROJECT_FOLDER } from "../support/child-process.ts";
import type { Language } from "./language.ts";
import { runTool } from "./run-tool.ts";

const PACKAGES = [
  "grpcio==1.85.1",
  "grpcio-tools==1.85.1",
  "grpcio-status==1.85.1",
  "googleapis-common-protos==1.76.0",
  "httpx==0.28.1",
];

/** Uses protoc's Python plugins, which are part of grpcio-tools and cannot be run by Buf. */
export const PYTHON: Language = {
  name: "Python",
  needs: ["python3"],
  build: async (folder) => {
    await runTool("python3", ["-m", "venv", join(folder, "venv")]);
    const python = join(folder, "venv", "bin", "python");
    await runTool(python, ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", ...PACKAGES]);
    const files = globSync("patchbay/v1/*.proto", { cwd: join(PROJECT_FOLDER, "proto") });
    const outputs = ["--python_out", "--pyi_out", "--grpc_python_out"].map((name) => `${name}=${folder}`);
    await runTool(python, ["-m", "grpc_tools.protoc", "-I", join(PROJECT_FOLDER, "proto"), ...outputs, ...files]);
    return [
      { example: "story_grpc.py", command: python, args: ["examples/story_grpc.py"], env: { PYTHONPATH: folder } },
      { example: "story_rest.py", command: python, args: ["examples/story_rest.py"] },
    ];
  },
};
