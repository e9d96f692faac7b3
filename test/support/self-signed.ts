import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A self-signed certificate for `localhost`. */
export interface SelfSigned {
  readonly cert: string;
  readonly key: string;
  /** The path of the certificate, for NODE_EXTRA_CA_CERTS. */
  readonly certFile: string;
  remove(): void;
}

export function createSelfSigned(): SelfSigned {
  const folder = mkdtempSync(join(tmpdir(), "tls-"));
  const [keyFile, certFile] = [join(folder, "key.pem"), join(folder, "cert.pem")];
  const newKey = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"];
  const subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"];
  execFileSync("openssl", [...newKey, ...subject, "-keyout", keyFile, "-out", certFile], { stdio: "ignore" });
  return {
    cert: readFileSync(certFile, "utf8"),
    key: readFileSync(keyFile, "utf8"),
    certFile,
    remove: () => rmSync(folder, { recursive: true }),
  };
}
