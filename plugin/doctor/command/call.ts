import { parseArgs } from 'node:util'
import { mistakeIn } from './mistaken-option.ts'

export const USAGE = `Usage: mesh-companion-check FILE [--meshcentral [--back]] [--migrate] [--out FILE]
                            [--explain-groups A,B,C] [--live]
       mesh-companion-check --meshcentral --installation DIR

Says what is wrong with the single sign-on configuration in FILE, a server's JSON
configuration, without starting anything, and which addresses to enter at the
identity provider.

  --meshcentral
              as MeshCentral serves it: a domain without \`dns\` at the path of its key,
              presets meant by their members, names that begin with _ are comments, and
              unknown keys are warnings. Also checks that MeshCentral loads the plugin
  --migrate   print the configuration with deprecated keys in their new places,
              everything else unchanged; all the rest goes to stderr then
  --back      with --meshcentral: list what MeshCentral's built-in strategy will do
              differently, and print the configuration that suits it
  --out FILE  write what --migrate or --back prints to a new file instead; an
              existing file is never overwritten
  --explain-groups A,B,C
              what the group rules of each domain decide for a member of exactly these
              groups, of none, and for somebody whose groups cannot be learned; names
              that hold commas in a JSON array: '["cn=a,ou=b", "C"]'
  --live      then asks the identity provider of each domain, with nobody signed in, what
              logins depend on: a line per question with ok, warn or fail, and what to do
  --installation DIR
              reads the MeshCentral that is installed in DIR, without starting it: whether
              what single sign-on relies on is there, as text for a report
  --version   the version, and nothing else
  --help      this text

Exit code: 0 fine (warnings included), 1 errors, a fail or missing parts, 2 nothing that could be checked, 64 a wrong option.
`

/**
 * 0 fine, 1 errors, 2 unusable: no such file, no JSON, no domain with `authStrategies.oidc`; 64 (sysexits.h) an option
 * that there is not.
 */
export type ExitCode = 0 | 1 | 2 | 64

/** A check of a file. */
export interface CheckCall {
  readonly kind: 'check'
  readonly file: string
  readonly meshCentral: boolean
  /** Which configuration is printed; null: none. */
  readonly print: 'migrated' | 'back' | null
  /** The new file that it is written to; null: stdout. */
  readonly out: string | null
  readonly live: boolean
  /** Null: no explanation is wanted. */
  readonly groups: readonly string[] | null
}

/** What the command was asked to do. */
export type Call =
  | CheckCall
  | { readonly kind: 'installation'; readonly folder: string }
  | { readonly kind: 'help' }
  | { readonly kind: 'version' }
  | { readonly kind: 'wrong'; readonly reason: string; readonly code: ExitCode }

const OPTIONS = {
  meshcentral: { type: 'boolean', default: false },
  migrate: { type: 'boolean', default: false },
  back: { type: 'boolean', default: false },
  out: { type: 'string' },
  'explain-groups': { type: 'string' },
  live: { type: 'boolean', default: false },
  installation: { type: 'string' },
  version: { type: 'boolean', default: false },
  help: { type: 'boolean', short: 'h', default: false },
} as const

/** Reads the arguments of the command, without the names of Node and the script. */
export function parseCall(args: readonly string[]): Call {
  try {
    const { values, positionals } = parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true })
    if (values.help) return { kind: 'help' }
    if (values.version) return { kind: 'version' }
    if (values.installation !== undefined) {
      return values.meshcentral && positionals.length === 0
        ? { kind: 'installation', folder: values.installation }
        : wrong('--installation DIR goes with --meshcentral, and with no file.')
    }
    const [file, ...more] = positionals
    if (file === undefined || more.length > 0) return wrong('Name one file to check.')
    if (values.back && !values.meshcentral) return wrong('--back goes with --meshcentral.')
    if (values.back && values.migrate) return wrong('--back and --migrate print different configurations: choose one.')
    const print = values.back ? 'back' : values.migrate ? 'migrated' : null
    if (values.out !== undefined && print === null) return wrong('--out FILE goes with --migrate or --back.')
    const list = values['explain-groups']
    const groups = list === undefined ? null : groupNames(list)
    if (groups === undefined) return wrong('--explain-groups takes A,B,C or a JSON array of texts.')
    const { meshcentral: meshCentral, live, out = null } = values
    return { kind: 'check', file, meshCentral, print, out, live, groups }
  } catch (error) {
    return { kind: 'wrong', reason: mistakeIn(error, Object.keys(OPTIONS)), code: 64 }
  }
}

const wrong = (reason: string): Call => ({ kind: 'wrong', reason, code: 2 })

/** Names separated by commas, or a JSON array; undefined: neither. */
function groupNames(list: string): readonly string[] | undefined {
  if (!list.trimStart().startsWith('[')) {
    return [...new Set(list.split(',').map((name) => name.trim()))].filter((name) => name !== '')
  }
  try {
    const names: unknown = JSON.parse(list)
    return Array.isArray(names) && names.every((name) => typeof name === 'string' && name !== '') ? names : undefined
  } catch {
    return undefined
  }
}
