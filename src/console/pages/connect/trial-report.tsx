import { Alert, List } from "@mantine/core";
import type { Schemas } from "../../api/schemas.ts";

const OUTCOME = {
  verified: { color: "teal", title: "The key works" },
  failed: { color: "red", title: "The key was refused" },
  needs_authorization: { color: "yellow", title: "You log in there once the connection is made" },
  inconclusive: { color: "yellow", title: "The answer says nothing about the key" },
  skipped: { color: "gray", title: "No key was given, so none was tried" },
} as const;

/** The result of a trial. */
export function TrialReport({ report }: { readonly report: Schemas["ConfigurationReport"] }) {
  if (!report.valid) {
    return (
      <Alert color="red" title="The configuration is not right yet" role="alert">
        <List size="sm">
          {report.errors.map(({ field, message }) => (
            <List.Item key={field + message}>{message}</List.Item>
          ))}
        </List>
      </Alert>
    );
  }
  if (report.verification === undefined) return undefined;
  const { color, title } = OUTCOME[report.verification.outcome];
  return (
    <Alert color={color} title={title} role="status">
      {report.verification.reason}
    </Alert>
  );
}
