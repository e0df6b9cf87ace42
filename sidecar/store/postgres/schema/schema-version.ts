/** The version of the schema that the files in `tables/` create. Older ones were never published. */
export const BASELINE = 6

/**
 * The steps after {@link BASELINE}: the first makes version 7 of version 6, and so on. A step only adds, because
 * instances of the version before work beside those of the new one. A published step is never changed.
 */
export const STEPS: readonly string[] = []
