import { type ComponentProps, lazy, Suspense } from "react";
import { RowsSkeleton } from "../../../parts/skeletons.tsx";
import type { ChangesPanel } from "./changes-panel.tsx";

const Loaded = lazy(() => import("./changes-panel.tsx").then((module) => ({ default: module.ChangesPanel })));

/** The panel of changes, loaded when it is first shown: what compares texts is of no use elsewhere. */
export function LazyChangesPanel(props: ComponentProps<typeof ChangesPanel>) {
  return (
    <Suspense fallback={<RowsSkeleton />}>
      <Loaded {...props} />
    </Suspense>
  );
}
