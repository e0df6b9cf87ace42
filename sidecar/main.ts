import { setDefaultAutoSelectFamilyAttemptTimeout } from 'node:net'
import { parseArgs } from 'node:util'
import type { Sidecar } from './compose.ts'
import type { Problem } from './config/problem.ts'
import { loadSettings } from './config/reading/load-settings.ts'
import { nearest } from './config/reading/nearest.ts'
import type { Reading } from './config/reading/read.ts'
import type { Settings } from './config/settings.ts'
import { VERSION } from './config/version.ts'
import { createLog, type Log, printableText } from './log.ts'
import { demandPackages, PackagesMissingError } from './operator/commands/packages.ts'
import { StoreLeftOpenError } from './operator/shutdown.ts'

const USAGE = `Usage: mesh-companion-sidecar --config FILE [--check [--live [--public URL]] | --restore BACKUP | --move-to ADDRESS]

  --config FILE      the configuration, in JSON
  --check            say what is wrong with it and with what it names, and start nothing
  --live             with --check: ask APRS-IS and the push gateways too, a line per question
  --public URL       with --live: ask by the address that phones call too, in the place of a sidecar that does not run now
  --restore BACKUP   put a backup in the place of the database, which is kept beside it
  --move-to ADDRESS  take the database file over into PostgreSQL, at postgres://…
  --version          the version
  --help             this text
`

/** By sysexits.h: the command line, or the configuration, is wrong. */
const EXIT_USAGE = 64
const EXIT_CONFIG = 78

/** Closing is bounded by itself; this is for the case that it is not. Service managers kill soon after 5 s. */
const CLOSE_WITHIN_MS = 4800

/**
 * Of a name with several addresses, how long each but the last one is tried by whatever goes out. Node's own 250 ms are
 * less than a round trip by satellite: there nothing would ever be reached whose last address is of no use, such as one
 * of IPv6 on a line without it.
 */
const ADDRESS_TIMEOUT_MS = 2500

interface Arguments {
  readonly config: string
  readonly check: boolean
  readonly live: boolean
  /** The address that phones call. */
  readonly public: string | undefined
  readonly restore: string | undefined
  readonly moveTo: string | undefined
}

const OPTIONS = {
  config: { type: 'string' },
  check: { type: 'boolean' },
  live: { type: 'boolean' },
  public: { type: 'string' },
  restore: { type: 'string' },
  'move-to': { type: 'string' },
  version: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const

/** The command line; ends the process where there is nothing to run. */
function readArguments(): Arguments {
  try {
    const { values } = parseArgs({ options: OPTIONS })
    if (values.help) {
      process.stdout.write(USAGE)
      process.exit(0)
    }
    if (values.version) {
      process.stdout.write(`${VERSION}\n`)
      process.exit(0)
    }
    const { config, check = false, live = false, public: address, restore, 'move-to': moveTo } = values
    const wanted = [check, restore !== undefined, moveTo !== undefined].filter(Boolean)
    const isPublic = address === undefined || (live && /^https?:/.test(address) && URL.canParse(address))
    if (config && wanted.length < 2 && (check || !live) && isPublic)
      return { config, check, live, public: address, restore, moveTo }
    const mistake =
      '--check, --restore and --move-to go without each other, --live with --check, --public with --live and an address of http or https'
    process.stderr.write(`${config ? mistake : '--config is missing'}.\n\n${USAGE}`)
  } catch (error) {
    // An argument in the wrong place is quoted, and an address may hold a password.
    const said = (error instanceof Error ? error.message : String(error)).replaceAll(
      /postgres(ql)?:[^\s']*/gi,
      'postgres://…',
    )
    const [, unknown] = /^Unknown option '([^']*)'/.exec(said) ?? []
    const meant = unknown === undefined ? undefined : nearest(unknown.replace(/^-+/, ''), Object.keys(OPTIONS))
    // Without advice on arguments that begin with a dash.
    const [mistake] = said.split(/(?<=')\. |\.\n/)
    process.stderr.write(`${mistake}.${meant === undefined ? '' : ` Did you mean --${meant}?`}\n\n${USAGE}`)
  }
  process.exit(EXIT_USAGE)
}

interface Configuration {
  readonly settings: Settings
  readonly warnings: readonly Problem[]
}

/**
 * The configuration; ends the process where it is wrong, with every mistake on stdout: as text for whoever checks the
 * file, as log lines for whoever reads the log of a service that did not start.
 */
function readConfiguration({ config, check, restore, moveTo }: Arguments): Configuration {
  const inWords = check || restore !== undefined || moveTo !== undefined
  const outcome = loadSettings(config, process.env)
  if (inWords) for (const warning of outcome.warnings) process.stdout.write(`Warning: ${problemInWords(warning)}\n`)
  if ('settings' in outcome) return outcome
  const log = createLog('info')
  if (!inWords) warnAbout(outcome.warnings, log)
  for (const problem of outcome.problems) {
    if (inWords) process.stdout.write(`${problemInWords(problem)}\n`)
    else log.error('config-invalid', problemInWords(problem), { path: problem.path })
  }
  process.exit(EXIT_CONFIG)
}

function problemInWords({ path, reason, remedy }: Problem): string {
  return printableText(`${path}: ${reason}. ${remedy}`)
}

function warnAbout(warnings: readonly Problem[], log: Log): void {
  for (const warning of warnings) log.warn('config-ignored', problemInWords(warning), { path: warning.path })
}

/**
 * Ends the process: with {@link EXIT_CONFIG} where a start would fail, and with 1 where somebody who was asked says no.
 */
async function check({ config, live, public: address }: Arguments, settings: Settings): Promise<never> {
  stopWithoutPackages()
  const { checkStart } = await import('./operator/commands/check.ts')
  const { errors, warnings } = await checkStart(settings, config)
  const say = (line: string) => process.stdout.write(`${printableText(line)}\n`)
  for (const warning of warnings) say(`Warning: ${warning}`)
  for (const error of errors) say(error)
  if (errors.length > 0) process.exit(EXIT_CONFIG)
  say(`${config} is fine.`)
  if (!live) process.exit(0)
  const { checkLive } = await import('./operator/commands/check-live.ts')
  const verdicts = await checkLive(settings, address)
  for (const { verdict, text } of verdicts) say(`${verdict.padEnd(4)} ${text}`)
  process.exit(verdicts.some(({ verdict }) => verdict === 'fail') ? 1 : 0)
}

/** Ends the process, as {@link check} does, where the package was installed without what the sidecar needs. */
function stopWithoutPackages(): void {
  try {
    demandPackages()
  } catch (error) {
    if (!(error instanceof PackagesMissingError)) throw error
    process.stdout.write(`${error.message} ${error.remedy}\n`)
    process.exit(EXIT_CONFIG)
  }
}

/** Ends the process. */
async function restore(backup: string, settings: Settings): Promise<never> {
  const { restoreBackup } = await import('./operator/commands/restore.ts')
  return report(await restoreBackup(backup, settings))
}

/** Ends the process. */
async function move(target: string, settings: Settings): Promise<never> {
  const { moveDatabase } = await import('./operator/commands/move.ts')
  return report(await moveDatabase(target, settings))
}

function report({ done, lines }: { readonly done: boolean; readonly lines: readonly string[] }): never {
  for (const line of lines) (done ? process.stdout : process.stderr).write(`${line}\n`)
  process.exit(done ? 0 : 1)
}

async function run({ settings, warnings }: Configuration, readAgain: () => Reading): Promise<void> {
  const log = createLog(settings.log.level)
  // Of the start, and of what ended it: these lines come at every level, the first for whoever starts the sidecar on
  // free ports.
  const announcements = createLog('info')
  const die = (event: string, msg: string, error: unknown): never => {
    // The log may be what failed, as when nobody reads stdout any more.
    try {
      const advice = error instanceof Error && 'remedy' in error ? { remedy: error.remedy } : {}
      announcements.error(event, msg, { error, ...advice })
    } finally {
      process.exit(1)
    }
  }
  process.on('uncaughtException', (error) =>
    die('crashed', 'The sidecar met a fault that it cannot go on with.', error),
  )

  let starting: Promise<Sidecar> | undefined
  const stopping = new AbortController()
  const stop = (signal: NodeJS.Signals): void => {
    if (stopping.signal.aborted) return
    log.info('stopping', 'The sidecar stops.', { signal })
    setTimeout(() => {
      log.error('stop-too-slow', 'The sidecar did not stop in time, and is ended.')
      endBy(signal)
    }, CLOSE_WITHIN_MS)
    stopping.abort()
    const closed = starting?.then((sidecar) => sidecar.close()) ?? Promise.resolve(true)
    closed
      // A start that fails meanwhile has closed what it opened, or says that it could not.
      .catch((error) => !(error instanceof StoreLeftOpenError))
      .then(async (isStoreClosed) => {
        if (isStoreClosed) await threadsIdle()
        log.info('stopped', 'The sidecar has stopped.')
        if (isStoreClosed) process.exit(0)
        endBy(signal)
      })
  }
  process.on('SIGTERM', stop)
  process.on('SIGINT', stop)
  process.on('SIGHUP', () => void starting?.then((sidecar) => sidecar.reload(readAgain())).catch(() => {}))

  try {
    warnAbout(warnings, log)
    demandPackages()
    // Not before the configuration is known to be right: this loads the database, and more.
    const { startSidecar } = await import('./compose.ts')
    if (stopping.signal.aborted) return
    starting = startSidecar(settings, log, undefined, undefined, stopping.signal)
    const { url, adminUrl } = await starting
    if (!stopping.signal.aborted)
      announcements.info('listening', 'The sidecar serves its API and the operator port.', { url, adminUrl })
  } catch (error) {
    if (!stopping.signal.aborted) die('start-failed', 'The sidecar cannot start.', error)
  }
}

/** Work of Node's threads, which `process.exit` waits for: of files, and of names that no server resolves. */
const THREAD_WORK: ReadonlySet<string> = new Set(['FSReqCallback', 'FSReqPromise', 'GetAddrInfoReqWrap'])
const LOOK_AGAIN_MS = 20

/** Resolves once no thread of Node is at work. The limit of the stop ends this wait. */
async function threadsIdle(): Promise<void> {
  while (process.getActiveResourcesInfo().some((name) => THREAD_WORK.has(name)))
    await new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN_MS))
}

/**
 * Ends the process while one of its threads hangs in the disk. `process.exit` waits for that thread; the signal that
 * asked for the end, left to the system, does not, and service managers take it for as clean an end as any.
 */
function endBy(signal: NodeJS.Signals): never {
  process.removeAllListeners(signal)
  process.kill(process.pid, signal)
  // The first process of a container does not feel the signals that it sends itself.
  process.exit(0)
}

setDefaultAutoSelectFamilyAttemptTimeout(ADDRESS_TIMEOUT_MS)
const given = readArguments()
const configuration = readConfiguration(given)
if (given.restore !== undefined) await restore(given.restore, configuration.settings)
else if (given.moveTo !== undefined) await move(given.moveTo, configuration.settings)
else if (given.check) await check(given, configuration.settings)
else await run(configuration, () => loadSettings(given.config, process.env))
