import * as all from "./all.ts";

/** Every entity the ORM maps; one for each table of ours. */
export const entities = Object.values(all);
