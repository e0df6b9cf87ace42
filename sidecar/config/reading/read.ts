import { isIP } from 'node:net'
import { resolve } from 'node:path'
import { Ajv } from 'ajv'
import formats from 'ajv-formats'
import { jsonPath } from '../json-path.ts'
import { isAddress } from '../postgres-address.ts'
import type { Problem } from '../problem.ts'
import { RULES } from '../rules.ts'
import { SETTINGS_SCHEMA } from '../schema.ts'
import type { Settings } from '../settings.ts'
import type { Surroundings } from '../surroundings.ts'
import { type Override, readEnvironment } from './environment.ts'
import { type ParsedJson, parseJson } from './json.ts'
import { schemaProblem } from './schema-problem.ts'

interface Source extends Surroundings {
  /** The text of the configuration file. */
  readonly text: string
  /** The file's name for messages; absent if the text does not come from a file. */
  readonly file?: string | undefined
  /** The environment variables of the process. Only `SIDECAR_…` variables are read. */
  readonly env: Readonly<Record<string, string | undefined>>
  /**
   * The absolute folder against which relative paths are resolved, both those in the file and those in the environment.
   */
  readonly folder: string
}

/** The result of reading a configuration. `warnings` list environment variables that are ignored. */
export type Reading = { readonly warnings: readonly Problem[] } & (
  | { readonly settings: Settings }
  | { readonly problems: readonly Problem[] }
)

/**
 * Returns the configuration, checked and frozen, or all of its mistakes. If it is not JSON, that is the only mistake.
 * The environment overrides the file.
 */
export function readSettings(source: Source): Reading {
  const environment = readEnvironment(source.env, SETTINGS_SCHEMA)
  // Editors on Windows may begin a file with a byte order mark.
  const json = parseJson(source.text.replace(/^\uFEFF/, ''))
  if (json.kind === 'syntax_error')
    return { problems: [syntaxProblem(json, source.file)], warnings: environment.warnings }

  const draft = json.value
  // Only editors use the member `$schema`.
  if (isTable(draft)) delete draft.$schema
  for (const { steps, value } of environment.overrides) put(draft, steps, value)
  const fromSchema = schemaProblems(draft)
  // A rule is skipped if the schema reported a mistake in a setting that the rule reads.
  for (const steps of FILE_MEMBERS) change(draft, steps, (path) => resolvePath(source.folder, path))
  change(draft, ['aprsis', 'callsign'], (callsign) => callsign.toUpperCase())
  const isSound = ({ needs }: { readonly needs: readonly string[] }) =>
    !needs.some((path) => fromSchema.some((problem) => overlap(problem.path, path)))
  const fromRules = RULES.filter(isSound).flatMap((rule) => rule.check(draft as Settings, source))

  const { warnings } = environment
  const problems = [
    ...json.duplicates.map(duplicateProblem),
    ...[...fromSchema, ...fromRules].map((problem) => withVariable(problem, environment.overrides)),
  ]
  return problems.length > 0 ? { problems, warnings } : { settings: freeze(draft as Settings), warnings }
}

/** Adds the defaults to `draft`, and returns the mistakes in it. */
function schemaProblems(draft: unknown): readonly Problem[] {
  // A test validates the schema: here it would take 20 ms. Optimizing code that runs once would take 15 ms more.
  const ajv = new Ajv({
    code: { optimize: false },
    meta: false,
    validateSchema: false,
    allErrors: true,
    useDefaults: true,
    verbose: true,
    allowUnionTypes: true,
  })
  formats.default(ajv, ['uri'])
  ajv.addFormat('address-range', isAddressRange)
  ajv.validate(SETTINGS_SCHEMA, draft)
  return unique((ajv.errors ?? []).map(schemaProblem))
}

/**
 * Returns one problem per path, because a single mistake can break two rules. For example, an empty value also has the
 * wrong form.
 */
function unique(problems: readonly Problem[]): readonly Problem[] {
  return [...new Map(problems.map((problem) => [problem.path, problem])).values()]
}

/** Returns whether the text is an IP address or a network in CIDR notation. */
function isAddressRange(text: string): boolean {
  const [address = '', bits, ...rest] = text.split('/')
  const version = isIP(address)
  if (version === 0 || address.includes('%') || rest.length > 0) return false
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128))
}

const FILE_MEMBERS: readonly (readonly string[])[] = [
  ['database'],
  ['databaseTls', 'caFile'],
  ['backup', 'folder'],
  ['listen', 'certFile'],
  ['listen', 'keyFile'],
  ['push', 'fcm', 'serviceAccountFile'],
  ['push', 'fcm', 'caFile'],
  ['push', 'apns', 'keyFile'],
  ['push', 'apns', 'caFile'],
  ['push', 'webpush', 'keyFile'],
  ['push', 'webpush', 'caFile'],
]

function resolvePath(folder: string, path: string): string {
  return path === '' || path === ':memory:' || isAddress(path) ? path : resolve(folder, path)
}

function syntaxProblem(
  { line, column, reason }: Extract<ParsedJson, { kind: 'syntax_error' }>,
  file: string | undefined,
): Problem {
  const place = file === undefined ? '' : ` of ${file}`
  return {
    path: '$',
    reason: `is not JSON: ${reason}, at line ${line}, column ${column}${place}`,
    remedy: 'Correct the file at that place.',
  }
}

function duplicateProblem(steps: readonly string[]): Problem {
  return { path: jsonPath(steps), reason: 'is given twice', remedy: 'Keep one of the two.' }
}

/**
 * Adds the name of the environment variable that caused a problem, so that the operator does not search the file for
 * it.
 */
function withVariable(problem: Problem, overrides: readonly Override[]): Problem {
  const override = overrides.find(({ steps }) => within(problem.path, jsonPath(steps)))
  return override ? { ...problem, reason: `${problem.reason} (set by ${override.variable})` } : problem
}

/** Returns whether the two paths name the same setting, or one path is inside the other. */
function overlap(path: string, otherPath: string): boolean {
  return path === '$' || within(path, otherPath) || within(otherPath, path)
}

function within(inner: string, outer: string): boolean {
  return inner === outer || inner.startsWith(`${outer}.`) || inner.startsWith(`${outer}[`)
}

type Table = Record<string, unknown>

function isTable(value: unknown): value is Table {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * Returns the table with the setting at `steps`; undefined if the path has another value. `create`: adds missing
 * tables.
 */
function holderOf(draft: unknown, steps: readonly string[], create: boolean): Table | undefined {
  let holder = draft
  for (const step of steps.slice(0, -1)) {
    if (!isTable(holder)) return undefined
    if (create && !Object.hasOwn(holder, step)) holder[step] = {}
    holder = holder[step]
  }
  return isTable(holder) ? holder : undefined
}

function put(draft: unknown, steps: readonly string[], value: unknown): void {
  const holder = holderOf(draft, steps, true)
  if (holder) holder[steps.at(-1) ?? ''] = value
}

function change(draft: unknown, steps: readonly string[], replace: (text: string) => string): void {
  const holder = holderOf(draft, steps, false)
  const name = steps.at(-1) ?? ''
  const value = holder?.[name]
  if (holder && typeof value === 'string') holder[name] = replace(value)
}

function freeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) for (const member of Object.values(value)) freeze(member)
  return Object.freeze(value)
}
