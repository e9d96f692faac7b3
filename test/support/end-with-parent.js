import { Socket } from "node:net";
import process from "node:process";

// Ends the importing process when the process that started it exits, which closes the other end of the pipe. Child
// processes that inherit the import are not ended: they have another parent, and their descriptor 3 is not this pipe.
if (String(process.ppid) === new URL(import.meta.url).searchParams.get("parent")) {
  const pipe = new Socket({ fd: 3, readable: true, writable: false });
  pipe.on("error", () => undefined);
  pipe.once("close", () => process.exit(1));
  pipe.resume();
  pipe.unref();
}
