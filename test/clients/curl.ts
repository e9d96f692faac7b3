import type { Language } from "./language.ts";

export const CURL: Language = {
  name: "curl",
  needs: ["bash", "curl", "jq"],
  build: async () => [{ example: "story.sh", command: "bash", args: ["examples/story.sh"] }],
};
