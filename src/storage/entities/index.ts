/** Every entity the ORM maps. */
export const entities = [];
