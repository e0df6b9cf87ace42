import { nearestName } from '../../config/json/nearest-name.ts'

/**
 * Of what `parseArgs` throws its first sentence, without advice on arguments that begin with a dash, and the option
 * that was probably meant.
 */
export function mistakeIn(error: unknown, options: readonly string[]): string {
  const said = error instanceof Error ? error.message : String(error)
  const [mistake] = said.split(/(?<=')\. |\.\n/)
  const [, unknown] = /^Unknown option '([^']*)'/.exec(said) ?? []
  const meant = unknown === undefined ? undefined : nearestName(unknown.replace(/^-+/, ''), options)
  return `${mistake}.${meant === undefined ? '' : ` Did you mean --${meant}?`}`
}
