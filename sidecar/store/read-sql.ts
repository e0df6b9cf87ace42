import { readFileSync } from 'node:fs'

/** The values of a SQL file's named literals, by name. A named literal is followed by its name in a comment. */
export type SqlLiterals = Readonly<Record<string, number | string>>

/** A named literal: a number or a string, followed by its name in a comment, such as `6000 /* LEASE_MS *\/`. */
const NAMED_LITERAL = /(?:\b\d{1,16}|'[^']{0,80}') \/\* (?<name>[A-Z_]+) \*\//g

const HEAD_COMMENT = /^(?:--[^\n]*\n)+/

/**
 * Reads a `.sql` file without the comment at its head, and replaces its named literals. The values in the file are for
 * `psql -f`.
 *
 * @throws Error if a name is missing in `literals`
 */
export function readSql(file: URL, literals: SqlLiterals = {}): string {
  const text = readFileSync(file, 'utf8').replace(HEAD_COMMENT, '')
  return text.replaceAll(NAMED_LITERAL, (_literal, name: string) => {
    const value = literals[name]
    if (value === undefined) throw new Error(`${file.pathname}: the named literal ${name} was given no value.`)
    return `${typeof value === 'number' ? value : `'${value}'`} /* ${name} */`
  })
}
