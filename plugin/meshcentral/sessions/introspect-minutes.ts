/** A pause may be a part of a minute, but not so short that the IdP is flooded, nor so long that it means off. */
const [LEAST, DEFAULT, MOST] = [0.01, 5, 1_440]

/**
 * How often IdPs are asked about sessions in use. A value of no use is told, and does not leave ended sessions open: the default holds.
 *
 * @param given `settings.plugins.meshcompanion.introspectMinutes`
 * @returns minutes; 0 means never
 */
export function readIntrospectMinutes(given: unknown): { readonly minutes: number; readonly problem?: string } {
  if (given === undefined || given === null) return { minutes: DEFAULT }
  if (typeof given === 'number' && (given === 0 || (given >= LEAST && given <= MOST))) return { minutes: given }
  const problem = `settings.plugins.meshcompanion.introspectMinutes has to be 0 (off) or a number of minutes from ${LEAST} to ${MOST}, without quotation marks. It counts as ${DEFAULT}.`
  return { minutes: DEFAULT, problem }
}
