import { createRequire } from 'node:module'
import { parseArgs } from 'node:util'
import { systemClock } from '../clock.ts'
import { domainsByHostName } from '../config/domains/host-names.ts'
import { ROUTE_NAMES } from '../config/domains/route-names.ts'
import { jsonPath, quoted } from '../config/json/json-path.ts'
import { type JsonNode, JsonSyntaxError, locateJson } from '../config/json/json-text.ts'
import { migrate } from '../config/migration/migrate.ts'
import type { Problem } from '../config/problem.ts'
import type { DomainReading } from '../config/read.ts'
import type { DomainSettings } from '../config/settings.ts'
import { explainGroups } from '../login/groups/explain-groups.ts'
import { readDomains } from '../mount/read-domains.ts'
import { idpAddresses } from '../mount/status/idp-addresses.ts'
import { isVerificationSwitchedOff, SWITCHED_OFF } from '../provider/http/verification.ts'
import { type InstallationFiles, readInstallation } from './check-installation.ts'
import type { LiveOptions } from './check-live.ts'
import { mistakeIn } from './command-line.ts'

/** The package's. Read through its own name, since sources and build lie at different depths. */
const VERSION: string = createRequire(import.meta.url)('mesh-companion/package.json').version

const USAGE = `Usage: mesh-companion-check FILE [--meshcentral] [--migrate] [--explain-groups A,B,C] [--live]
       mesh-companion-check --meshcentral --installation DIR

Says what is wrong with the single sign-on configuration in FILE, a server's JSON
configuration, without starting anything, and which addresses to enter at the
identity provider.

  --meshcentral
              as MeshCentral serves it: a domain without \`dns\` at the path of its key,
              presets meant by their members, and unknown keys are warnings
  --migrate   print the configuration with deprecated keys in their new places,
              everything else unchanged; all the rest goes to stderr then
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

/** 0 fine, 1 errors, 2 unusable: no such file, no JSON, no domain with `authStrategies.oidc`; 64 (sysexits.h) an option that there is not. */
export type ExitCode = 0 | 1 | 2 | 64

export interface Terminal extends InstallationFiles {
  readonly out: (text: string) => void
  readonly err: (text: string) => void
}

/**
 * The command but for `--live`, which {@link checkToTheEnd} does; `args` without the names of Node and the script. Never prints a value
 * from the file but by `--migrate`.
 */
export function check(args: readonly string[], terminal: Terminal): ExitCode {
  return checkFile(args, terminal).code
}

/** The whole command: asks the IdPs too, one domain after the other, where that is wanted. Never rejects. */
export async function checkToTheEnd(
  args: readonly string[],
  terminal: Terminal,
  options?: LiveOptions,
): Promise<ExitCode> {
  const { code, toAsk, say } = checkFile(args, terminal)
  if (toAsk.length === 0) return code
  // A client of IdPs takes longer to load than a file to be checked.
  const { askProvider } = await import('./check-live.ts')
  let failed = false
  for (const { key, settings } of toAsk) {
    if (!settings) {
      say(`domain ${quoted(key)}, live: asked once the errors are mended\n`)
      continue
    }
    const verdicts = await askProvider(settings, options)
    say(`domain ${quoted(key)}, live:\n`)
    for (const { question, verdict, text } of verdicts) say(`  ${verdict}: ${question}: ${text}\n`)
    failed ||= verdicts.some(({ verdict }) => verdict === 'fail')
  }
  return code === 0 && failed ? 1 : code
}

interface FileCheck {
  readonly code: ExitCode
  /** Domains whose IdP is to be asked. */
  readonly toAsk: readonly DomainReading[]
  readonly say: (text: string) => void
}

function checkFile(args: readonly string[], terminal: Terminal): FileCheck {
  const over = (code: ExitCode): FileCheck => ({ code, toAsk: [], say: terminal.out })
  const call = parseCall(args)
  if (call.kind === 'help') {
    terminal.out(USAGE)
    return over(0)
  }
  if (call.kind === 'version') {
    terminal.out(`${VERSION}\n`)
    return over(0)
  }
  if (call.kind === 'wrong') {
    terminal.err(`${call.reason}\n\n${USAGE}`)
    return over(call.code ?? 2)
  }
  if (call.kind === 'installation') return over(checkInstallation(call.folder, terminal))
  const text = readText(call.file, terminal)
  const node = text === undefined ? undefined : locate(call.file, text, terminal)
  if (text === undefined || !node) return over(2)
  const config: unknown = JSON.parse(text)
  const basePathOf = call.meshCentral ? pathsOfMeshCentral(config) : () => '/'
  const { domains, problems } = readDomains(config, {
    readFile: terminal.read,
    now: systemClock.now(),
    ...(call.meshCentral ? { unknownKeys: 'warn', inferPresets: true, hasRights: true, basePathOf } : {}),
  })
  if (problems.length > 0 || domains.length === 0) {
    terminal.err(`${problems.length > 0 ? lines('error', problems) : NO_DOMAIN}\n`)
    return over(2)
  }

  const say = call.migrate ? terminal.err : terminal.out
  for (const { key, title, settings, problems, warnings } of domains) {
    const verdict = `${count(problems.length, 'error')}, ${count(warnings.length, 'warning')}`
    say(`domain ${quoted(key)}${title === null ? '' : ` (${quoted(title)})`}: ${verdict}\n`)
    if (problems.length > 0) say(`${lines('error', problems)}\n`)
    if (warnings.length > 0) say(`${lines('warning', warnings)}\n`)
    if (call.groups) say(explanation(call.groups, settings))
  }
  const general = [...repeatedMembers(node), ...environmentWarnings()]
  if (general.length > 0) say(`${lines('warning', general)}\n`)
  for (const { key, settings } of domains) if (settings) say(addressesOf(key, settings, basePathOf(key)))
  if (call.migrate) terminal.out(migrate(text))
  const code = domains.some(({ problems }) => problems.length > 0) ? 1 : 0
  return { code, toAsk: call.live ? domains : [], say }
}

type Call =
  | {
      readonly kind: 'check'
      readonly file: string
      readonly meshCentral: boolean
      readonly migrate: boolean
      readonly live: boolean
      /** Null: no explanation is wanted. */
      readonly groups: readonly string[] | null
    }
  | { readonly kind: 'installation'; readonly folder: string }
  | { readonly kind: 'help' }
  | { readonly kind: 'version' }
  | { readonly kind: 'wrong'; readonly reason: string; readonly code?: ExitCode }

const OPTIONS = {
  meshcentral: { type: 'boolean', default: false },
  migrate: { type: 'boolean', default: false },
  'explain-groups': { type: 'string' },
  live: { type: 'boolean', default: false },
  installation: { type: 'string' },
  version: { type: 'boolean', default: false },
  help: { type: 'boolean', short: 'h', default: false },
} as const

function parseCall(args: readonly string[]): Call {
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      options: OPTIONS,
      allowPositionals: true,
    })
    if (values.help) return { kind: 'help' }
    if (values.version) return { kind: 'version' }
    if (values.installation !== undefined) {
      return values.meshcentral && positionals.length === 0
        ? { kind: 'installation', folder: values.installation }
        : { kind: 'wrong', reason: '--installation DIR goes with --meshcentral, and with no file.' }
    }
    const [file, ...more] = positionals
    if (file === undefined || more.length > 0) return { kind: 'wrong', reason: 'Name one file to check.' }
    const list = values['explain-groups']
    const groups = list === undefined ? null : groupNames(list)
    if (groups === undefined) return { kind: 'wrong', reason: '--explain-groups takes A,B,C or a JSON array of texts.' }
    return { kind: 'check', file, meshCentral: values.meshcentral, migrate: values.migrate, live: values.live, groups }
  } catch (error) {
    return { kind: 'wrong', reason: mistakeIn(error, Object.keys(OPTIONS)), code: 64 }
  }
}

function checkInstallation(folder: string, terminal: Terminal): ExitCode {
  const reading = readInstallation(folder, VERSION, terminal)
  if (!reading) {
    terminal.err(`${folder}: no MeshCentral is installed there. Name the folder that its node_modules is in.\n`)
    return 2
  }
  terminal.out(reading.text)
  if (!reading.isFine) terminal.err('Single sign-on may not work with it. Put the lines above into a report.\n')
  return reading.isFine ? 0 : 1
}

function pathsOfMeshCentral(config: unknown): (domainKey: string) => string {
  const withName = new Set(domainsByHostName(config).values())
  return (key) => (key === '' || withName.has(key) ? '/' : `/${key.toLowerCase()}/`)
}

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

function explanation(groups: readonly string[], settings: DomainSettings | null): string {
  const said = settings
    ? explainGroups(groups, settings.groups)
    : ['The group rules are explained once the errors are mended.']
  return said.map((line) => `  ${line}\n`).join('')
}

/** What is left to do at the IdP. */
function addressesOf(key: string, settings: DomainSettings, basePath: string): string {
  const { redirect, postLogout, backchannelLogout, frontchannelLogout, keySet } = idpAddresses(settings, {
    backchannelLogout: basePath + ROUTE_NAMES.backchannelLogout,
    frontchannelLogout: basePath + ROUTE_NAMES.frontchannelLogout,
    jwks: basePath + ROUTE_NAMES.jwks,
  })
  const rows = [
    `redirect URI: ${redirect}`,
    ...(postLogout === null ? [] : [`post-logout redirect URI: ${postLogout}`]),
    `back-channel logout URI: ${backchannelLogout}`,
    `front-channel logout URI: ${frontchannelLogout}`,
    ...(keySet === null ? [] : [`key set (JWKS) URI: ${keySet}`]),
  ]
  return `domain ${quoted(key)}, to enter at the IdP:\n${rows.map((row) => `  ${row}\n`).join('')}`
}

function readText(file: string, terminal: Terminal): string | undefined {
  try {
    return terminal.read(file)
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? ` (${error.code})` : ''
    terminal.err(`${file}: cannot be read${code}.\n`)
    return undefined
  }
}

function locate(file: string, text: string, terminal: Terminal): JsonNode | undefined {
  try {
    return locateJson(text)
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error
    terminal.err(`${file}:${error.line}:${error.column}: is not JSON: ${error.message}.\n`)
    return undefined
  }
}

const NO_DOMAIN =
  'No domain has authStrategies.oidc: there is nothing to check. Single sign-on is configured in domains.<key>.authStrategies.oidc.'

/** `JSON.parse` keeps the last of two equal names without a word. */
function repeatedMembers(node: JsonNode, steps: readonly string[] = []): readonly Problem[] {
  const here = node.repeated.map((name) => ({
    path: jsonPath([...steps, name]),
    reason: 'is there more than once',
    remedy: 'Keep one of them: the last one is used.',
  }))
  const deeper = [...node.members].flatMap(([name, inner]) => repeatedMembers(inner, [...steps, name]))
  return [...here, ...deeper]
}

/** Settings beside the file that do not do what their writer expects. */
function environmentWarnings(): readonly Problem[] {
  return isVerificationSwitchedOff() ? [{ path: 'NODE_TLS_REJECT_UNAUTHORIZED', ...SWITCHED_OFF }] : []
}

function lines(level: 'error' | 'warning', problems: readonly Problem[]): string {
  return problems.map(({ path, reason, remedy }) => `  ${level}: ${path}: ${reason}. ${remedy}`).join('\n')
}

function count(number: number, what: string): string {
  return `${number === 0 ? 'no' : number} ${what}${number === 1 ? '' : 's'}`
}
