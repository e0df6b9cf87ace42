/**
 * Returns the number of runs of a costly property: `few` in `npm test`, times `PROPERTY_TIMES`, which `npm run fuzz --
 * --properties` sets. A property that breaks is printed with its seed and path.
 */
export function propertyRuns(few: number): number {
  return few * Number(process.env.PROPERTY_TIMES ?? 1)
}
