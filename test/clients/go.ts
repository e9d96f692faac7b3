import { copyFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { PROJECT_FOLDER } from "../support/child-process.ts";
import { generate } from "./generate.ts";
import type { Language } from "./language.ts";
import { runTool } from "./run-tool.ts";

const MODULE = `module patchbay.dev

go 1.25.0

require (
	golang.org/x/oauth2 v0.37.0
	google.golang.org/genproto/googleapis/api v0.0.0-20261019180522-ce908d29299b
	google.golang.org/grpc v1.85.0
	google.golang.org/protobuf v1.36.12
)
`;

/** protoc-gen-go and protoc-gen-go-grpc, installed by their module paths. */
export const GO: Language = {
  name: "Go",
  needs: ["go"],
  build: async (folder) => {
    const bin = join(folder, "bin");
    const install = (path: string) => runTool("go", ["install", path], { folder, env: { GOBIN: bin } });
    await install("google.golang.org/protobuf/cmd/protoc-gen-go@v1.36.12");
    await install("google.golang.org/grpc/cmd/protoc-gen-go-grpc@v1.6.2");
    const plugins = {
      "buf.build/protocolbuffers/go": { local: join(bin, "protoc-gen-go") },
      "buf.build/grpc/go": { local: join(bin, "protoc-gen-go-grpc") },
    };
    await generate("go", plugins, folder);
    await writeFile(join(folder, "go.mod"), MODULE);
    await copyFile(join(PROJECT_FOLDER, "examples", "story.go"), join(folder, "main.go"));
    await runTool("go", ["mod", "tidy"], { folder });
    await runTool("go", ["vet", "./..."], { folder });
    await runTool("go", ["build", "-o", "story", "."], { folder });
    return [{ example: "story.go", command: join(folder, "story"), args: [] }];
  },
};
