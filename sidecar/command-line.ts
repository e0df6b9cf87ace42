import { parseArgs } from 'node:util'
import { parseStationKey } from './aprs/station.ts'
import { nearest } from './config/reading/nearest.ts'
import { VERSION } from './config/version.ts'
import { type Answers, INIT_FLAGS, type InitFlag } from './operator/init/questions.ts'

const USAGE = `Usage: mesh-companion-sidecar --config FILE [COMMAND]

  --config FILE      the configuration file, in JSON

Without a command, it starts the sidecar. Commands:

  --check            check the configuration and the files that it names, without starting
  --live             with --check: also test the login to APRS-IS and the push gateways
  --public URL       with --live: also test the public address of the API, while the sidecar is stopped
  --restore BACKUP   replace the database by a backup, and keep the old database beside it
  --move-to ADDRESS  copy the database file to PostgreSQL, at postgres://…

Commands that ask the running sidecar through its admin port:

  --stations         list the stations
  --station CALL     show the devices, pushes and messages of one station
  --notify CALL      send a test notification to each device of a station
  --text TEXT        with --notify: the text of the notification

Without --config:

  --init DIR         write DIR/sidecar.json from the answers to questions, and check it
  --version          print the version
  --help             print this help

Answers for --init; without them, it asks:

  --callsign CALL    the callsign of the sidecar, such as N0CALL-10
  --port PORT        the port of the API
  --fcm-key FILE     Android: the key of the service account from Firebase
  --apns-key FILE    iOS: the .p8 key from Apple
  --apns-key-id ID   iOS: the id of that key
  --apns-team-id ID  iOS: the team id
  --apns-topic ID    iOS: the bundle id of the app
  --webpush-subject ADDRESS  Web Push: your address for push services
`

/** Exit code for a wrong command line: `EX_USAGE` of sysexits.h. */
export const EXIT_USAGE = 64

/** The command that the user requested on the command line. */
export type Command = InitCommand | ConfiguredCommand

/** The command to write a new configuration into `folder`. `answers`: the values of the flags that answer questions. */
export interface InitCommand {
  readonly kind: 'init'
  readonly folder: string
  readonly answers: Answers
}

/** A command that needs the configuration file `config`. */
export type ConfiguredCommand = { readonly config: string } & (
  | { readonly kind: 'start' }
  /** `public`: the public address of the API to check; undefined to skip that check. */
  | { readonly kind: 'check'; readonly live: boolean; readonly public: string | undefined }
  | { readonly kind: 'restore'; readonly backup: string }
  | { readonly kind: 'move'; readonly target: string }
  | { readonly kind: 'stations' }
  | { readonly kind: 'station'; readonly station: string }
  | { readonly kind: 'notify'; readonly station: string; readonly text: string | undefined }
)

const INIT_OPTIONS = Object.fromEntries(INIT_FLAGS.map((name) => [name, { type: 'string' }])) as {
  readonly [name in InitFlag]: { readonly type: 'string' }
}

const OPTIONS = {
  config: { type: 'string' },
  check: { type: 'boolean' },
  live: { type: 'boolean' },
  public: { type: 'string' },
  restore: { type: 'string' },
  'move-to': { type: 'string' },
  stations: { type: 'boolean' },
  station: { type: 'string' },
  notify: { type: 'string' },
  text: { type: 'string' },
  init: { type: 'string' },
  ...INIT_OPTIONS,
  version: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const

type Values = ReturnType<typeof parseArgs<{ options: typeof OPTIONS }>>['values']

/** The options that select a command. At most one of them may be used. */
const COMMAND_OPTIONS = [
  'init',
  'check',
  'restore',
  'move-to',
  'stations',
  'station',
  'notify',
] as const satisfies readonly (keyof typeof OPTIONS)[]

/** A mistake in the command line. The message is a sentence without its final period, or ends with a question. */
class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** Parses the command line. Ends the process if the command line is wrong, or only requests the help or the version. */
export function readCommandLine(): Command {
  try {
    const values = readOptions()
    if (values.help) {
      process.stdout.write(USAGE)
      process.exit(0)
    }
    if (values.version) {
      process.stdout.write(`${VERSION}\n`)
      process.exit(0)
    }
    return commandIn(values)
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    process.stderr.write(`${error.message}${error.message.endsWith('?') ? '' : '.'}\n\n${USAGE}`)
    process.exit(EXIT_USAGE)
  }
}

/** Parses the options. Throws a {@link UsageError} for an unknown option, a missing value or a superfluous argument. */
function readOptions(): Values {
  try {
    return parseArgs({ options: OPTIONS }).values
  } catch (error) {
    // Masks database addresses. The message quotes a misplaced argument, and this may be an address with a password.
    const message = (error instanceof Error ? error.message : String(error)).replaceAll(
      /postgres(ql)?:[^\s']*/gi,
      'postgres://…',
    )
    const [, unknown] = /^Unknown option '([^']*)'/.exec(message) ?? []
    const suggestion = unknown === undefined ? undefined : nearest(unknown.replace(/^-+/, ''), Object.keys(OPTIONS))
    // Node.js appends advice about arguments that begin with a dash. The advice is cut off.
    const [mistake] = message.split(/(?<=')\. |\.\n/)
    throw new UsageError(suggestion === undefined ? mistake : `${mistake}. Did you mean --${suggestion}?`, {
      cause: error,
    })
  }
}

/** Returns the command that the options select. Throws a {@link UsageError} if they contradict each other. */
function commandIn(values: Values): Command {
  const { config, check = false, live = false, public: address, restore, 'move-to': target } = values
  const flags = INIT_FLAGS.filter((name) => values[name] !== undefined)
  if (values.init !== undefined && config !== undefined) throw new UsageError('Use only one of --init and --config')
  if (values.init === undefined && flags.length > 0) throw new UsageError(`Use --${flags[0]} with --init`)
  const chosen = COMMAND_OPTIONS.filter((name) => values[name] !== undefined)
  if (chosen.length > 1) throw new UsageError(`Use only one of ${chosen.map((name) => `--${name}`).join(' and ')}`)
  if (values.init === '') throw new UsageError('--init needs a folder')
  if (values.init !== undefined)
    return { kind: 'init', folder: values.init, answers: Object.fromEntries(flags.map((name) => [name, values[name]])) }
  if (!config) throw new UsageError('--config is missing')
  if (live && !check) throw new UsageError('Use --live with --check')
  if (address !== undefined && !(live && /^https?:/.test(address) && URL.canParse(address)))
    throw new UsageError('Use --public with --live and an http or https address')
  if (values.text !== undefined && values.notify === undefined) throw new UsageError('Use --text with --notify')
  if (values.stations) return { config, kind: 'stations' }
  if (values.station !== undefined) return { config, kind: 'station', station: stationIn('station', values.station) }
  if (values.notify !== undefined)
    return { config, kind: 'notify', station: stationIn('notify', values.notify), text: values.text }
  if (restore !== undefined) return { config, kind: 'restore', backup: restore }
  if (target !== undefined) return { config, kind: 'move', target }
  return check ? { config, kind: 'check', live, public: address } : { config, kind: 'start' }
}

/** Returns the station in an option's value. Throws a {@link UsageError} if the value is not a station. */
function stationIn(option: string, value: string): string {
  const station = parseStationKey(value)
  if (station === undefined) throw new UsageError(`--${option} needs a station, such as N0CALL-7`)
  return station
}
