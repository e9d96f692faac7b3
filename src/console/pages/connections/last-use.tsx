import { Text, Tooltip, VisuallyHidden } from "@mantine/core";
import type { Schemas } from "../../api/schemas.ts";
import { Moment } from "../../parts/moment.tsx";

type Usage = Schemas["ConnectionUsage"];

const NUMBER = new Intl.NumberFormat();
/** A red that is readable on both backgrounds. */
const RED = "light-dark(var(--mantine-color-red-9), var(--mantine-color-red-4))";
const PERCENT = new Intl.NumberFormat(undefined, { style: "percent", maximumFractionDigits: 1 });

function inWords({ calls, errors }: Usage): string {
  return `${NUMBER.format(errors)} of ${NUMBER.format(calls)} calls failed in the last 24 hours`;
}

/** When the latest call of a connection started. Undefined while unknown. */
export function LastUsed({ usage }: { readonly usage: Usage | undefined }) {
  return usage === undefined ? "–" : <Moment at={usage.last_called_at} />;
}

/** The share of the day's calls that failed, with the number on hover, on focus, and for assistive technology. */
export function ErrorRate({ usage }: { readonly usage: Usage | undefined }) {
  if (usage === undefined || usage.calls === 0) return <span title="Not called in the last 24 hours">–</span>;
  return (
    <Tooltip label={inWords(usage)} events={{ hover: true, focus: true, touch: true }}>
      <Text span inherit tabIndex={0} {...(usage.errors > 0 && { c: RED, fw: 600 })}>
        {PERCENT.format(usage.error_rate)}
        <VisuallyHidden>: {inWords(usage)}</VisuallyHidden>
      </Text>
    </Tooltip>
  );
}

/** The same in one line, for narrow windows. */
export function UseInOneLine({ usage }: { readonly usage: Usage | undefined }) {
  if (usage === undefined) return null;
  return (
    <Text size="xs" c="dimmed" hiddenFrom="sm">
      {usage.last_called_at === undefined ? (
        "Never used"
      ) : (
        <>
          Used <Moment at={usage.last_called_at} />
        </>
      )}
      {usage.errors > 0 && ` · ${PERCENT.format(usage.error_rate)} errors`}
    </Text>
  );
}
