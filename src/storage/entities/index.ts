import * as all from "./all.ts";

/** Every entity of the ORM, one per table. */
export const entities = Object.values(all);
