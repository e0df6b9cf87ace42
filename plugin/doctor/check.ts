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

/**
 * The package's version. `package.json` is loaded under the package's name. A relative path would differ between the
 * sources and the build.
 */
const VERSION: string = createRequire(import.meta.url)('mesh-companion/package.json').version

/**
 * Runs the command without `--live`, which needs {@link checkToTheEnd}. Prints values from the file only for
 * `--migrate` and `--back`.
 *
 * @param args `process.argv` without its first two items
 */
export function check(args: readonly string[], terminal: Terminal): ExitCode {
  return run(args, terminal).code
}

/** Runs the whole command. With `--live`, it also asks the IdPs, one domain after the other. Never rejects. */
export async function checkToTheEnd(
  args: readonly string[],
  terminal: Terminal,
  options?: LiveOptions,
): Promise<ExitCode> {
  const { code, toAsk, say } = run(args, terminal)
  if (toAsk.length === 0) return code
  // Load this module only for `--live`. Loading the OpenID Connect client takes longer than checking a file.
  const { askProvider } = await import('./check-live.ts')
  let failed = false
  for (const { key, settings } of toAsk) {
    if (!settings) {
      say(`domain ${quoted(key)}, live: not checked. Correct the errors of this domain first.\n`)
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
  /** Domains to check at their IdPs. Empty without `--live`. */
  readonly toAsk: readonly DomainReading[]
  readonly say: (text: string) => void
}

function run(args: readonly string[], terminal: Terminal): FileCheck {
  const finished = (code: ExitCode): FileCheck => ({ code, toAsk: [], say: terminal.out })
  const request = parseCall(args)
  switch (request.kind) {
    case 'help':
      terminal.out(USAGE)
      return finished(0)
    case 'version':
      terminal.out(`${VERSION}\n`)
      return finished(0)
    case 'wrong':
      terminal.err(`${request.reason}\n\n${USAGE}`)
      return finished(request.code)
    case 'installation':
      return finished(checkInstallation(request.folder, terminal))
    default: {
      const file = readConfigurationFile(request.file, terminal)
      return file ? checkFile(request, file, terminal) : finished(2)
    }
  }
}

function checkFile(request: CheckCall, file: ConfigurationFile, terminal: Terminal): FileCheck {
  const { config } = file
  const basePathOf = request.meshCentral ? pathsOfMeshCentral(config) : () => '/'
  const readings = readDomains(config, {
    readFile: terminal.read,
    configFolder: dirname(resolve(request.file)),
    now: systemClock.now(),
    ...(request.meshCentral
      ? { meshCentral: true, unknownKeys: 'warn', inferPresets: true, hasRights: true, basePathOf }
      : {}),
  })
  const server = request.meshCentral
    ? checkMeshCentralServer(config, { isLoaded: request.print === 'back' })
    : { problems: [], warnings: [] }
  if (readings.problems.length > 0 || readings.domains.length === 0) {
    return { code: reportUnusable(readings, server, terminal), toAsk: [], say: terminal.out }
  }

  // If the configuration is printed to stdout, reports go to stderr, so that stdout contains only the configuration.
  const say = request.print !== null && request.out === null ? terminal.err : terminal.out
  if (server.problems.length + server.warnings.length > 0) {
    say(findingsReport('server', server.problems, server.warnings))
  }
  for (const domain of readings.domains) {
    say(domainReport(domain))
    if (request.groups) say(groupsReport(request.groups, domain.settings))
  }
  say(lines('warning', [...repeatedMembers(file.node), ...environmentWarnings()]))
  const unlimited = request.meshCentral && request.print !== 'back' ? unlimitedTokens(config, readings) : []
  if (unlimited.length > 0) say(`note: ${unlimitedTokensNote(unlimited)}\n`)
  for (const { key, settings } of readings.domains) {
    if (settings && request.print !== 'back') say(addressesReport(key, settings, basePathOf(key)))
  }
  const hasErrors = server.problems.length > 0 || readings.domains.some(({ problems }) => problems.length > 0)
  const isPrinted = printConfiguration(request, file, readings.domains, terminal, say)
  return { code: isPrinted ? (hasErrors ? 1 : 0) : 2, toAsk: request.live ? readings.domains : [], say }
}

function unlimitedTokens(config: unknown, { domains }: Readings): readonly string[] {
  return domainsWithUnlimitedTokens(
    config,
    domains.map(({ key }) => key),
  )
}

/** Returns warnings about environment variables that do not have the effect that an administrator expects. */
function environmentWarnings(): readonly Problem[] {
  return isVerificationSwitchedOff() ? [{ path: 'NODE_TLS_REJECT_UNAUTHORIZED', ...SWITCHED_OFF }] : []
}

/** Reports why no domain can be checked. Returns exit code 1 if mistakes in the domains are the reason, otherwise 2. */
function reportUnusable({ problems }: Readings, server: ServerReading, terminal: Terminal): ExitCode {
  terminal.err(lines('error', problems))
  if (problems.length > 0) return 2
  if (server.problems.length + server.warnings.length > 0) {
    terminal.err(findingsReport('server', server.problems, server.warnings))
  }
  terminal.err(`${NO_DOMAIN}\n`)
  return server.problems.some(({ path }) => path.startsWith('domain')) ? 1 : 2
}

/** Prints the configuration that `--migrate` or `--back` requests, or writes it to a file. Returns false on failure. */
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
    say('The configuration for the built-in strategy is only printed once the errors are corrected.\n')
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
    terminal.err(`${folder}: no MeshCentral is installed there. Name the folder that contains its node_modules.\n`)
    return 2
  }
  terminal.out(reading.text)
  if (!reading.isFine)
    terminal.err(
      'Single sign-on may not work with this version of MeshCentral. Please report this, with the lines above.\n',
    )
  return reading.isFine ? 0 : 1
}

function pathsOfMeshCentral(config: unknown): (domainKey: string) => string {
  const withName = new Set(domainsByHostName(config).values())
  return (key) => (key === '' || withName.has(key) ? '/' : `/${key.toLowerCase()}/`)
}

const NO_DOMAIN =
  'No domain has authStrategies.oidc, so there is nothing to check. Configure single sign-on in domains.<key>.authStrategies.oidc.'
