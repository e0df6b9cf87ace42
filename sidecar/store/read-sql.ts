import { readFileSync } from 'node:fs'

/** Values for the named literals of a SQL file, by name. */
export type SqlLiterals = Readonly<Record<string, number | string>>

/** A number or a string, followed by its name in a comment: `6000 /* LEASE_MS *\/`. */
const NAMED_LITERAL = /(?:\b\d{1,16}|'[^']{0,80}') \/\* (?<name>[A-Z_]+) \*\//g

const HEAD_COMMENT = /^(?:--[^\n]*\n)+/

/**
 * Reads a `.sql` file without the comment at its head, and replaces its named literals by the values in `literals`. The
 * file itself contains values too, so that `psql -f` can run it.
 *
 * @throws Error if the file has a name that `literals` lacks
 */
export function readSql(file: URL, literals: SqlLiterals = {}): string {
  const text = readFileSync(file, 'utf8').replace(HEAD_COMMENT, '')
  return text.replaceAll(NAMED_LITERAL, (_literal, name: string) => {
    const value = literals[name]
    if (value === undefined) throw new Error(`${file.pathname} names ${name}, which has no value.`)
    return `${typeof value === 'number' ? value : `'${value}'`} /* ${name} */`
  })
}
