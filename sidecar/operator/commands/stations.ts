import type { Settings } from '../../config/settings.ts'
import type { MessageReport } from '../../messages/reports/station-reports.ts'
import type { StationKey } from '../../messages/store.ts'
import { count, counted, dateTime, duration } from '../page/format.ts'
import type { NotifyAnswer, StationAnswer, StationListAnswer } from '../station-answers.ts'
import { askSidecar, type SidecarAnswer } from './ask-sidecar.ts'

/**
 * The outcome of a command: `done`, `refused` by the sidecar or a push gateway, or `absent` if no sidecar answers at
 * `admin`.
 */
export interface CommandOutcome {
  readonly kind: 'done' | 'refused' | 'absent'
  readonly lines: readonly string[]
  /** The error message for stderr, if the sidecar did not answer, or refused the request. */
  readonly error?: string
}

type Admin = Settings['admin']

/**
 * Prints a line for each station, as pages arrive: devices, last registration, pending notifications. `now`:
 * milliseconds since 1970.
 */
export async function listStations(admin: Admin, now: number, print: (line: string) => void): Promise<CommandOutcome> {
  let afterKey: StationKey | null = ''
  while (afterKey !== null) {
    const path: string = afterKey === '' ? '/stations' : `/stations?after=${encodeURIComponent(afterKey)}`
    const answer: SidecarAnswer<StationListAnswer> = await askSidecar<StationListAnswer>(admin, path)
    if (answer.kind !== 'answered') return failure(answer)
    const { stations, next } = answer.body
    if (afterKey === '' && stations.length === 0) print('No station is registered.')
    for (const { station, devices, lastSeenAt, pending } of stations)
      print(
        `${station.padEnd(9)}  ${counted(devices, 'device')}, last heartbeat ${duration(now - lastSeenAt)} ago, ${counted(pending, 'pending notification')}`,
      )
    afterKey = next
  }
  return { kind: 'done', lines: [] }
}

/** Describes one station in lines of text. */
export async function showStation(admin: Admin, station: StationKey, now: number): Promise<CommandOutcome> {
  const answer = await askSidecar<StationAnswer>(admin, `/stations/${station}`)
  return answer.kind === 'answered' ? { kind: 'done', lines: stationInWords(answer.body, now) } : failure(answer)
}

/** Sends a test notification to each device of the station, and returns each gateway's answer. */
export async function notifyStation(
  admin: Admin,
  station: StationKey,
  text: string | undefined,
): Promise<CommandOutcome> {
  const answer = await askSidecar<NotifyAnswer>(admin, '/notify', { station, text })
  if (answer.kind !== 'answered') return failure(answer)
  const { devices } = answer.body
  const lines = devices.map(
    ({ platform, outcome, reason }, index) =>
      `Device ${index + 1}, ${platform}: ${outcome}${reason === null ? '' : ` (${reason})`}`,
  )
  return { kind: devices.every(({ outcome }) => outcome === 'accepted') ? 'done' : 'refused', lines }
}

function failure(answer: Exclude<SidecarAnswer<unknown>, { kind: 'answered' }>): CommandOutcome {
  return { kind: answer.kind, lines: [], error: answer.message }
}

function stationInWords({ station, avatarHash, devices, messages }: StationAnswer, now: number): readonly string[] {
  return [
    `${station}: ${counted(devices.length, 'device')}, ${counted(messages.length, 'message')} in the ring, ${avatarHash === '' ? 'no avatar' : `avatar ${avatarHash}`}`,
    ...devices.flatMap((device, index) => deviceInWords(device, index + 1, now)),
    ...(messages.length === 0 ? [] : ['Messages, newest first:']),
    ...messages.map(messageInWords),
  ]
}

function deviceInWords(device: StationAnswer['devices'][number], number: number, now: number): readonly string[] {
  const { platform, token, tokenDead, ackMessages, registeredAt, lastSeenAt, pending, lastPush } = device
  const push =
    lastPush === null
      ? 'no push yet'
      : `last push ${dateTime(lastPush.at)} UTC: ${lastPush.outcome}${lastPush.reason === null ? '' : ` (${lastPush.reason})`}`
  return [
    `Device ${number}, ${platform}: token …${token} is ${tokenDead ? 'dead' : 'alive'}, ${ackMessages ? 'wants acks' : 'wants no acks'}`,
    `  registered ${dateTime(registeredAt)} UTC, last heartbeat ${duration(now - lastSeenAt)} ago`,
    `  ${push}; ${count(pending)} pending`,
  ]
}

function messageInWords({ from, to, seqId, time, ackedAt }: MessageReport): string {
  const number = seqId === '' ? 'no number' : `number ${seqId}`
  const ack = ackedAt === null ? 'not acknowledged' : `acknowledged ${dateTime(ackedAt)} UTC`
  return `  ${dateTime(time)} UTC from ${from} to ${to}, ${number}, ${ack}, stamp ${time}`
}
