import { delimiter, join } from "node:path";
import type { Language } from "./language.ts";
import { runTool } from "./run-tool.ts";

/** Generic clients that use server reflection, including for error details. */
const STORY = new RegExp(
  [
    "^health: SERVING",
    "service: patchbay\\.v1\\.ConnectionService",
    "method: rpc CreateConnection",
    "created: Echo",
    "connections: 1",
    "refused: INVALID_ARGUMENT access_type",
    "deleted\n$",
  ].join("\n"),
);

const SHELL = ["bash", "curl", "jq"];

/** Buf's client, a dependency of the project. */
export const BUF_CURL: Language = {
  name: "buf-curl",
  needs: SHELL,
  build: async () => [
    { example: "reflection/buf-curl.sh", command: "bash", args: ["test/clients/reflection/buf-curl.sh"], story: STORY },
  ],
};

/** grpcurl, built from source. */
export const GRPCURL: Language = {
  name: "grpcurl",
  needs: [...SHELL, "go"],
  build: async (folder) => {
    const bin = join(folder, "bin");
    await runTool("go", ["install", "github.com/fullstorydev/grpcurl/cmd/grpcurl@v1.9.4"], {
      folder,
      env: { GOBIN: bin },
    });
    const env = { PATH: [bin, process.env["PATH"] ?? ""].join(delimiter) };
    const args = ["test/clients/reflection/grpcurl.sh"];
    return [{ example: "reflection/grpcurl.sh", command: "bash", args, env, story: STORY }];
  },
};
