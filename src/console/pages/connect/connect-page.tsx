import { PageHeader } from "../../parts/page-header.tsx";

/** Connecting in three steps: choose, fill in, check. */
export function ConnectPage() {
  return <PageHeader title="Connect" />;
}
