import { createRequire } from 'node:module'
import { dirname, resolve } from 'node:path'
import { systemClock } from '../clock.ts'
import { domainsByHostName } from '../config/domains/host-names.ts'
import { membersOf } from '../config/json/json-object.ts'
import { quoted } from '../config/json/json-path.ts'
import { checkMeshCentralServer } from '../config/meshcentral/check-server.ts'
import { domainsWithUnlimitedTokens, unlimitedTokensNote } from '../config/meshcentral/login-tokens.ts'
import type { ServerReading } from '../config/meshcentral/server-reading.ts'
import { migrate } from '../config/migration/migrate.ts'
import type { Problem } from '../config/problem.ts'
import type { DomainReading, Readings } from '../config/read.ts'
import { readDomains } from '../mount/read-domains.ts'
import { isVerificationSwitchedOff, SWITCHED_OFF } from '../provider/http/verification.ts'
import { readInstallation } from './check-installation.ts'
import type { LiveOptions } from './check-live.ts'
import { type CheckCall, type ExitCode, parseCall, USAGE } from './command/call.ts'
import {
  type ConfigurationFile,
  createFile,
  readConfigurationFile,
  repeatedMembers,
} from './command/configuration-file.ts'
import { addressesReport, domainReport, findingsReport, groupsReport, lines } from './command/report.ts'
import type { Terminal } from './command/terminal.ts'
import { ALWAYS_DIFFERENT } from './going-back/differences.ts'
import { goBack } from './going-back/go-back.ts'

export type { ExitCode } from './command/call.ts'
export type { Terminal } from './command/terminal.ts'

/** The package's. Read through its own name, since sources and build lie at different depths. */
const VERSION: string = createRequire(import.meta.url)('mesh-companion/package.json').version

/**
 * The command but for `--live`, which {@link checkToTheEnd} does; `args` without the names of Node and the script.
 * Never prints a value from the file but by `--migrate` and `--back`.
 */
export function check(args: readonly string[], terminal: Terminal): ExitCode {
  return run(args, terminal).code
}

/** The whole command: asks the IdPs too, one domain after the other, where that is wanted. Never rejects. */
export async function checkToTheEnd(
  args: readonly string[],
  terminal: Terminal,
  options?: LiveOptions,
): Promise<ExitCode> {
  const { code, toAsk, say } = run(args, terminal)
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

function run(args: readonly string[], terminal: Terminal): FileCheck {
  const over = (code: ExitCode): FileCheck => ({ code, toAsk: [], say: terminal.out })
  const call = parseCall(args)
  switch (call.kind) {
    case 'help':
      terminal.out(USAGE)
      return over(0)
    case 'version':
      terminal.out(`${VERSION}\n`)
      return over(0)
    case 'wrong':
      terminal.err(`${call.reason}\n\n${USAGE}`)
      return over(call.code)
    case 'installation':
      return over(checkInstallation(call.folder, terminal))
    default: {
      const file = readConfigurationFile(call.file, terminal)
      return file ? checkFile(call, file, terminal) : over(2)
    }
  }
}

function checkFile(call: CheckCall, file: ConfigurationFile, terminal: Terminal): FileCheck {
  const { config } = file
  const basePathOf = call.meshCentral ? pathsOfMeshCentral(config) : () => '/'
  const readings = readDomains(config, {
    readFile: terminal.read,
    configFolder: dirname(resolve(call.file)),
    now: systemClock.now(),
    ...(call.meshCentral
      ? { meshCentral: true, unknownKeys: 'warn', inferPresets: true, hasRights: true, basePathOf }
      : {}),
  })
  const server = call.meshCentral
    ? checkMeshCentralServer(config, { isLoaded: call.print === 'back' })
    : { problems: [], warnings: [] }
  if (readings.problems.length > 0 || readings.domains.length === 0) {
    return { code: reportUnusable(readings, server, terminal), toAsk: [], say: terminal.out }
  }

  // Stdout has nothing but the configuration then.
  const say = call.print !== null && call.out === null ? terminal.err : terminal.out
  if (server.problems.length + server.warnings.length > 0) {
    say(findingsReport('server', server.problems, server.warnings))
  }
  for (const domain of readings.domains) {
    say(domainReport(domain))
    if (call.groups) say(groupsReport(call.groups, domain.settings))
  }
  say(lines('warning', [...repeatedMembers(file.node), ...environmentWarnings()]))
  const unlimited = call.meshCentral && call.print !== 'back' ? unlimitedTokens(config, readings) : []
  if (unlimited.length > 0) say(`note: ${unlimitedTokensNote(unlimited)}\n`)
  for (const { key, settings } of readings.domains) {
    if (settings && call.print !== 'back') say(addressesReport(key, settings, basePathOf(key)))
  }
  const hasErrors = server.problems.length > 0 || readings.domains.some(({ problems }) => problems.length > 0)
  const isPrinted = printConfiguration(call, file, readings.domains, terminal, say)
  return { code: isPrinted ? (hasErrors ? 1 : 0) : 2, toAsk: call.live ? readings.domains : [], say }
}

function unlimitedTokens(config: unknown, { domains }: Readings): readonly string[] {
  return domainsWithUnlimitedTokens(
    config,
    domains.map(({ key }) => key),
  )
}

/** Settings beside the file that do not do what their writer expects. */
function environmentWarnings(): readonly Problem[] {
  return isVerificationSwitchedOff() ? [{ path: 'NODE_TLS_REJECT_UNAUTHORIZED', ...SWITCHED_OFF }] : []
}

/** Says why no domain can be checked. The code is 1 where a mistake in the file explains it. */
function reportUnusable({ problems }: Readings, server: ServerReading, terminal: Terminal): ExitCode {
  terminal.err(lines('error', problems))
  if (problems.length > 0) return 2
  if (server.problems.length + server.warnings.length > 0) {
    terminal.err(findingsReport('server', server.problems, server.warnings))
  }
  terminal.err(`${NO_DOMAIN}\n`)
  return server.problems.some(({ path }) => path.startsWith('domain')) ? 1 : 2
}

/** Prints or writes the configuration that is wanted. Returns false where that failed. */
function printConfiguration(
  { print, out, meshCentral }: CheckCall,
  { text, config }: ConfigurationFile,
  domains: readonly DomainReading[],
  terminal: Terminal,
  say: (text: string) => void,
): boolean {
  const write = (result: string) => {
    if (out !== null) return createFile(out, result, terminal)
    terminal.out(result)
    return true
  }
  if (print === null) return true
  if (print === 'migrated') return write(migrate(text, { meshCentral }))
  const settings = new Map(domains.flatMap((domain) => (domain.settings ? [[domain.key, domain.settings]] : [])))
  if (settings.size < domains.length) {
    say('The configuration for the built-in strategy is made once the errors are mended.\n')
    return true
  }
  const way = goBack(membersOf(config), settings)
  say('The built-in strategy, in every domain:\n')
  for (const difference of ALWAYS_DIFFERENT) say(`  different: ${difference}\n`)
  for (const [key, differences] of way.differences) {
    say(`The built-in strategy, in domain ${quoted(key)}:${differences.length > 0 ? '' : ' nothing else'}\n`)
    for (const { path, text } of differences) say(`  different: ${path} ${text}\n`)
  }
  return write(way.text)
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

const NO_DOMAIN =
  'No domain has authStrategies.oidc: there is nothing to check. Single sign-on is configured in domains.<key>.authStrategies.oidc.'
