const EXACT = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const RELATIVE = new Intl.RelativeTimeFormat(undefined, { numeric: "auto" });

const STEPS: readonly (readonly [unit: Intl.RelativeTimeFormatUnit, seconds: number])[] = [
  ["year", 31_536_000],
  ["month", 2_592_000],
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
];

function relative(at: Date): string {
  const seconds = (at.getTime() - Date.now()) / 1_000;
  const step = STEPS.find(([, size]) => Math.abs(seconds) >= size);
  return step === undefined ? "just now" : RELATIVE.format(Math.round(seconds / step[1]), step[0]);
}

/** A relative time, with the exact time in the reader's time zone on hover. Undefined shows a text for never. */
export function Moment({ at, exact = false }: { readonly at: string | undefined; readonly exact?: boolean }) {
  if (at === undefined) return "Never";
  const date = new Date(at);
  return (
    <time dateTime={at} title={EXACT.format(date)}>
      {exact ? EXACT.format(date) : relative(date)}
    </time>
  );
}
