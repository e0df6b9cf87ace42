import { setDefaultAutoSelectFamilyAttemptTimeout } from 'node:net'
import { type ConfiguredCommand, EXIT_USAGE, type InitCommand, readCommandLine } from './command-line.ts'
import type { Sidecar } from './compose.ts'
import type { Problem } from './config/problem.ts'
import { loadSettings } from './config/reading/load-settings.ts'
import type { Reading } from './config/reading/read.ts'
import type { Settings } from './config/settings.ts'
import { createLog, type Log, printableText } from './log.ts'
import { demandPackages, PackagesMissingError } from './operator/commands/packages.ts'
import { StoreLeftOpenError } from './operator/shutdown.ts'

/** Exit code for a wrong configuration: `EX_CONFIG` of sysexits.h. */
const EXIT_CONFIG = 78
/** Exit code if no sidecar answers: `EX_UNAVAILABLE` of sysexits.h. */
const EXIT_UNAVAILABLE = 69

/**
 * Limit of the time for a stop, in milliseconds, in case a part exceeds its own limit. Service managers kill a process
 * soon after 5 s.
 */
const CLOSE_WITHIN_MS = 4800

/**
 * Milliseconds for each address of a host except the last. The default of Node.js, 250 ms, is less than a satellite
 * round trip, so only the last address would be reached, perhaps IPv6 without a route.
 */
const ADDRESS_TIMEOUT_MS = 2500

/**
 * Lets a command finish, with its own exit code, if the reader of its output closes the pipe early, as `head` does. A
 * start does not call this: the sidecar ends if nothing reads its log.
 */
function ignoreClosedPipes(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error
    })
  }
}

interface Configuration {
  readonly settings: Settings
  readonly warnings: readonly Problem[]
}

/**
 * Reads the configuration. If it is wrong, prints all mistakes and ends the process. A start logs them: operators read
 * a failed service's log.
 */
function readConfiguration({ config, kind }: Pick<ConfiguredCommand, 'config' | 'kind'>): Configuration {
  const isCommand = kind !== 'start'
  const outcome = loadSettings(config, process.env)
  // The commands about stations and test notifications print no warnings: the running sidecar has logged them, and
  // programs may parse the output.
  const isQuiet = kind === 'stations' || kind === 'station' || kind === 'notify'
  const warnings = isQuiet ? [] : outcome.warnings
  if (isCommand) for (const warning of warnings) process.stdout.write(`Warning: ${describeProblem(warning)}\n`)
  if ('settings' in outcome) return outcome
  const log = createLog('info', undefined, 'auto')
  if (!isCommand) warnAbout(outcome.warnings, log)
  for (const problem of outcome.problems) {
    if (isCommand) process.stdout.write(`${describeProblem(problem)}\n`)
    else log.error('config-invalid', describeProblem(problem), { path: problem.path })
  }
  process.exit(EXIT_CONFIG)
}

function describeProblem({ path, reason, remedy }: Problem): string {
  return printableText(`${path}: ${reason}. ${remedy}`)
}

function warnAbout(warnings: readonly Problem[], log: Log): void {
  for (const warning of warnings) log.warn('config-ignored', describeProblem(warning), { path: warning.path })
}

/**
 * Checks the configuration. Returns the exit code: {@link EXIT_CONFIG} if a start would fail, 1 if a live check fails,
 * otherwise 0.
 */
async function check(
  { config, live, public: address }: Omit<Extract<ConfiguredCommand, { kind: 'check' }>, 'kind'>,
  settings: Settings,
): Promise<number> {
  stopWithoutPackages()
  const { checkStart } = await import('./operator/commands/check.ts')
  const { errors, warnings } = await checkStart(settings, config)
  const print = (line: string) => process.stdout.write(`${printableText(line)}\n`)
  for (const warning of warnings) print(`Warning: ${warning}`)
  for (const error of errors) print(error)
  if (errors.length > 0) return EXIT_CONFIG
  print(`${config} is fine.`)
  if (!live) return 0
  const { checkLive } = await import('./operator/commands/check-live.ts')
  const verdicts = await checkLive(settings, address)
  for (const { verdict, text } of verdicts) print(`${verdict.padEnd(4)} ${text}`)
  return verdicts.some(({ verdict }) => verdict === 'fail') ? 1 : 0
}

/** Ends the process with {@link EXIT_CONFIG} if a package that the sidecar needs is not installed. */
function stopWithoutPackages(): void {
  try {
    demandPackages()
  } catch (error) {
    if (!(error instanceof PackagesMissingError)) throw error
    process.stdout.write(`${error.message} ${error.remedy}\n`)
    process.exit(EXIT_CONFIG)
  }
}

/** Writes a new configuration and checks it, then ends the process. */
async function initialize({ folder, answers }: InitCommand): Promise<never> {
  const { init, nextStep } = await import('./operator/init/init.ts')
  const { openConversation } = await import('./operator/init/conversation.ts')
  const conversation = openConversation(process.stdin, process.stdout)
  const outcome = await init(folder, answers, conversation).finally(() => conversation.close())
  if (outcome.kind !== 'written') {
    process.stderr.write(`${printableText(outcome.reason)}\n`)
    process.exit(outcome.kind === 'wrong_flag' ? EXIT_USAGE : 1)
  }
  const config = outcome.file
  process.stdout.write(`${config} is written.\n`)
  const code = await check(
    { config, live: true, public: undefined },
    readConfiguration({ config, kind: 'check' }).settings,
  )
  process.stdout.write(`${nextStep(config, code === 0)}\n`)
  process.exit(code)
}

/** Replaces the database by a backup, then ends the process. */
async function restore(backup: string, settings: Settings): Promise<never> {
  const { restoreBackup } = await import('./operator/commands/restore.ts')
  return printOutcome(await restoreBackup(backup, settings))
}

/** Copies the database file to PostgreSQL, then ends the process. */
async function move(target: string, settings: Settings): Promise<never> {
  const { moveDatabase } = await import('./operator/commands/move.ts')
  return printOutcome(await moveDatabase(target, settings))
}

/** Runs a command that asks the running sidecar. Returns the exit code. */
async function ask(
  command: Extract<ConfiguredCommand, { kind: 'stations' | 'station' | 'notify' }>,
  { admin }: Settings,
) {
  const { listStations, notifyStation, showStation } = await import('./operator/commands/stations.ts')
  const print = (line: string) => process.stdout.write(`${printableText(line)}\n`)
  const outcome =
    command.kind === 'stations'
      ? await listStations(admin, Date.now(), print)
      : command.kind === 'station'
        ? await showStation(admin, command.station, Date.now())
        : await notifyStation(admin, command.station, command.text)
  for (const line of outcome.lines) print(line)
  if (outcome.error !== undefined) process.stderr.write(`${printableText(outcome.error)}\n`)
  return { done: 0, refused: 1, absent: EXIT_UNAVAILABLE }[outcome.kind]
}

function printOutcome({ done, lines }: { readonly done: boolean; readonly lines: readonly string[] }): never {
  for (const line of lines) (done ? process.stdout : process.stderr).write(`${line}\n`)
  process.exit(done ? 0 : 1)
}

async function run({ settings, warnings }: Configuration, readAgain: () => Reading): Promise<void> {
  const log = createLog(settings.log.level, undefined, settings.log.format)
  // Logs lines that must appear at any `log.level`: the addresses of the sidecar, and the reason why it ended.
  const announcements = createLog('info', undefined, settings.log.format)
  const die = (event: string, msg: string, error: unknown): never => {
    // The log itself may fail, for example because stdout is closed.
    try {
      const advice = error instanceof Error && 'remedy' in error ? { remedy: error.remedy } : {}
      announcements.error(event, msg, { error, ...advice })
    } finally {
      process.exit(1)
    }
  }
  process.on('uncaughtException', (error) =>
    die('crashed', 'The sidecar crashed. This is a bug: please report it with this log line.', error),
  )

  let starting: Promise<Sidecar> | undefined
  const stopping = new AbortController()
  const stop = (signal: NodeJS.Signals): void => {
    if (stopping.signal.aborted) return
    log.info('stopping', 'The sidecar is stopping.', { signal })
    setTimeout(() => {
      log.error('stop-too-slow', 'The sidecar did not stop in time and is killed. Check whether the disk hangs.')
      endBy(signal)
    }, CLOSE_WITHIN_MS)
    stopping.abort()
    const closed = starting?.then((sidecar) => sidecar.close()) ?? Promise.resolve(true)
    closed
      // A failed start has closed the store, unless it rejects with a `StoreLeftOpenError`.
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
  process.on('SIGHUP', () => {
    const reading = readAgain()
    if ('settings' in reading) {
      const { level, format } = reading.settings.log
      log.configure({ level, format })
      announcements.configure({ level: 'info', format })
    }
    void starting?.then((sidecar) => sidecar.reload(reading)).catch(() => {})
  })

  try {
    warnAbout(warnings, log)
    demandPackages()
    // The import waits until the configuration is checked, because it loads the database library and other large
    // packages.
    const { startSidecar } = await import('./compose.ts')
    if (stopping.signal.aborted) return
    starting = startSidecar(settings, log, undefined, undefined, stopping.signal)
    const { url, adminUrl } = await starting
    if (!stopping.signal.aborted)
      announcements.info('listening', "The sidecar serves its API and the operator's port.", { url, adminUrl })
  } catch (error) {
    if (!stopping.signal.aborted) die('start-failed', 'The sidecar could not start; error says why.', error)
  }
}

/**
 * Names of the resources that use Node's thread pool: file operations and name lookups. `process.exit` waits for them.
 */
const THREAD_WORK: ReadonlySet<string> = new Set(['FSReqCallback', 'FSReqPromise', 'GetAddrInfoReqWrap'])
const LOOK_AGAIN_MS = 20

/**
 * Resolves once Node's thread pool is idle. The time limit of the stop, {@link CLOSE_WITHIN_MS}, also limits this wait.
 */
async function threadsIdle(): Promise<void> {
  while (process.getActiveResourcesInfo().some((name) => THREAD_WORK.has(name)))
    await new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN_MS))
}

/**
 * Ends the process although a thread hangs in a disk operation, for which `process.exit` would wait. A signal without a
 * listener does not wait, and service managers treat it as a clean exit.
 */
function endBy(signal: NodeJS.Signals): never {
  process.removeAllListeners(signal)
  process.kill(process.pid, signal)
  // Only the first process of a container reaches this line. The kernel ignores signals that such a process sends to
  // itself.
  process.exit(0)
}

setDefaultAutoSelectFamilyAttemptTimeout(ADDRESS_TIMEOUT_MS)
const commandLine = readCommandLine()
if (commandLine.kind !== 'start') ignoreClosedPipes()
const command = commandLine.kind === 'init' ? await initialize(commandLine) : commandLine
const configuration = readConfiguration(command)
const { settings } = configuration
switch (command.kind) {
  case 'start':
    await run(configuration, () => loadSettings(command.config, process.env))
    break
  case 'check':
    process.exit(await check(command, settings))
    break
  case 'restore':
    await restore(command.backup, settings)
    break
  case 'move':
    await move(command.target, settings)
    break
  case 'stations':
  case 'station':
  case 'notify':
    process.exitCode = await ask(command, settings)
    break
}
