/** The version of the schema that the files in `tables/` create. Older versions were never published. */
export const BASELINE = 11

/**
 * The upgrade steps after {@link BASELINE}, one per version. A step may only add, because instances of the previous
 * version run during an upgrade. Never change a published step.
 */
export const STEPS: readonly string[] = []
