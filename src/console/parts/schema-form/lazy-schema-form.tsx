import { lazy, Suspense, type ComponentProps } from "react";
import { RowsSkeleton } from "../skeletons.tsx";
import type { SchemaForm } from "./schema-form.tsx";

const Loaded = lazy(() => import("./schema-form.tsx").then((module) => ({ default: module.SchemaForm })));

/** The form of a schema, loaded on first use because its library is larger than the rest of the console. */
export function LazySchemaForm(props: ComponentProps<typeof SchemaForm>) {
  return (
    <Suspense fallback={<RowsSkeleton rows={2} />}>
      <Loaded {...props} />
    </Suspense>
  );
}
