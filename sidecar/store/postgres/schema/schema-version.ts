/** The version of the schema that the files in `tables/` create. Older versions were never published. */
export const BASELINE = 11

/**
 * The upgrade steps after {@link BASELINE}: the first upgrades version 11 to version 12, and so on. A step may only add
 * to the schema, because instances of the previous version run beside new ones during an upgrade. Never change a
 * published step.
 */
export const STEPS: readonly string[] = []
