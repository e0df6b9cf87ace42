import { nearestName } from '../../config/json/nearest-name.ts'

/** Returns the first sentence of an error of `parseArgs`, and suggests the option with the most similar name. */
export function mistakeIn(error: unknown, options: readonly string[]): string {
  const message = error instanceof Error ? error.message : String(error)
  const [mistake] = message.split(/(?<=')\. |\.\n/)
  const [, unknown] = /^Unknown option '([^']*)'/.exec(message) ?? []
  const nearest = unknown === undefined ? undefined : nearestName(unknown.replace(/^-+/, ''), options)
  return `${mistake}.${nearest === undefined ? '' : ` Did you mean --${nearest}?`}`
}
