/**
 * Returns the number of runs of a slow property test: `few` in `npm test`. `npm run fuzz -- --properties` multiplies it
 * by `PROPERTY_TIMES`. If the property fails, its seed and path are printed.
 */
export function propertyRuns(few: number): number {
  return few * Number(process.env.PROPERTY_TIMES ?? 1)
}
