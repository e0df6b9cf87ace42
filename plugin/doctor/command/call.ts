import { parseArgs } from 'node:util'
import { mistakeIn } from './mistaken-option.ts'

export const USAGE = `Usage: mesh-companion-check FILE [--meshcentral [--back]] [--migrate] [--out FILE]
                            [--explain-groups A,B,C] [--live]
       mesh-companion-check --meshcentral --installation DIR

Checks the single sign-on configuration in FILE, a server's JSON configuration,
without starting anything. Reports all mistakes, and the addresses to enter at the
identity provider.

  --meshcentral
              read the file as MeshCentral does: a domain without \`dns\` is served at the
              path of its key, members can imply a preset, names that begin with _ are
              comments, and unknown keys are warnings. Also check that MeshCentral loads
              the plugin
  --migrate   print the configuration with deprecated keys in their new places and
              everything else unchanged; all other output then goes to stderr
  --back      with --meshcentral: list what MeshCentral's built-in strategy will do
              differently, and print a configuration for it
  --out FILE  write the configuration of --migrate or --back to a new file instead of
              printing it; an existing file is never overwritten
  --explain-groups A,B,C
              show what the group rules of each domain decide for a member of exactly
              these groups, for a member of none, and for a user whose groups are unknown;
              write names that contain commas as a JSON array: '["cn=a,ou=b", "C"]'
  --live      then ask the identity provider of each domain everything that logins depend
              on, without a signed-in user: one line per question with ok, warn or fail,
              and what to do
  --installation DIR
              read the MeshCentral that is installed in DIR, without starting it, and show
              whether all parts that single sign-on relies on are there, as text for a
              report
  --version   print the version only
  --help      print this text

Exit code: 0 no errors (warnings possible), 1 errors, a fail or missing parts,
2 nothing that could be checked, 64 a wrong option.
`

/**
 * The exit code of the command:
 * - 0: no errors.
 * - 1: errors.
 * - 2: the file is missing, is not JSON, or has no domain with `authStrategies.oidc`.
 * - 64 (as in sysexits.h): an option does not exist.
 */
export type ExitCode = 0 | 1 | 2 | 64

/** The arguments of a command that checks a configuration file. */
export interface CheckCall {
  readonly kind: 'check'
  readonly file: string
  readonly meshCentral: boolean
  /** The configuration to print, or null for none. */
  readonly print: 'migrated' | 'back' | null
  /** The new file to which the configuration is written, or null for stdout. */
  readonly out: string | null
  readonly live: boolean
  /** The group names for which to explain the rules, or null if no explanation was requested. */
  readonly groups: readonly string[] | null
}

/** The parsed command line. */
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

/** Parses the command line, without its first two items: the paths of Node and of the script. */
export function parseCall(args: readonly string[]): Call {
  try {
    const { values, positionals } = parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true })
    if (values.help) return { kind: 'help' }
    if (values.version) return { kind: 'version' }
    if (values.installation !== undefined) {
      return values.meshcentral && positionals.length === 0
        ? { kind: 'installation', folder: values.installation }
        : wrong('--installation DIR needs --meshcentral, and no file.')
    }
    const [file, ...surplus] = positionals
    if (file === undefined || surplus.length > 0) return wrong('Name one file to check.')
    if (values.back && !values.meshcentral) return wrong('--back needs --meshcentral.')
    if (values.back && values.migrate) return wrong('--back and --migrate print different configurations: choose one.')
    const print = values.back ? 'back' : values.migrate ? 'migrated' : null
    if (values.out !== undefined && print === null) return wrong('--out FILE needs --migrate or --back.')
    const list = values['explain-groups']
    const groups = list === undefined ? null : groupNames(list)
    if (groups === undefined) return wrong('--explain-groups accepts A,B,C or a JSON array of strings.')
    const { meshcentral: meshCentral, live, out = null } = values
    return { kind: 'check', file, meshCentral, print, out, live, groups }
  } catch (error) {
    return { kind: 'wrong', reason: mistakeIn(error, Object.keys(OPTIONS)), code: 64 }
  }
}

const wrong = (reason: string): Call => ({ kind: 'wrong', reason, code: 2 })

/** Reads names that are separated by commas, or a JSON array of names. Returns undefined if the array is not valid. */
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
