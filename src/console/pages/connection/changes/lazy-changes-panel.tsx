import { type ComponentProps, lazy, Suspense } from "react";
import { RowsSkeleton } from "../../../parts/skeletons.tsx";
import type { ChangesPanel } from "./changes-panel.tsx";

const Loaded = lazy(() => import("./changes-panel.tsx").then((module) => ({ default: module.ChangesPanel })));

/** The panel of changes, loaded on first use because of the library that compares texts. */
export function LazyChangesPanel(props: ComponentProps<typeof ChangesPanel>) {
  return (
    <Suspense fallback={<RowsSkeleton />}>
      <Loaded {...props} />
    </Suspense>
  );
}
