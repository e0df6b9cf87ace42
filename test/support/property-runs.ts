/**
 * How often a costly property is tried: as often as a run of all tests has time for, and so many times as often as
 * `PROPERTY_TIMES` says, which `npm run fuzz -- --properties` sets. What breaks one is printed with its seed and path.
 */
export function propertyRuns(few: number): number {
  return few * Number(process.env.PROPERTY_TIMES ?? 1)
}
