import { parseBody } from '../api/requests/body.ts'
import { parseStationKey } from '../aprs/station.ts'
import type {
  DeviceReport,
  MessageReport,
  StationReport,
  StationReports,
  StationSummary,
} from '../messages/reports/station-reports.ts'
import type { StationKey } from '../messages/store.ts'
import type { TestOutcome } from '../push/delivery/test-notification.ts'
import { htmlPage, jsonPage, type Page } from './answer-page.ts'
import { renderStationList, renderStationPage } from './page/station-pages.ts'

/** Limit of stations in one answer. */
const PAGE_STATIONS = 1000
const MAX_TEXT_CHARACTERS = 200
const TOKEN_CHARACTERS = 6

/** A page of `GET /stations`. `next`: the value of `after` for the next page; null at the end. */
export interface StationListAnswer {
  readonly stations: readonly StationSummary[]
  readonly next: StationKey | null
}

/** The answer of `GET /stations/CALL`. Times are in milliseconds since 1970. */
export interface StationAnswer {
  readonly station: StationKey
  readonly avatarHash: string
  readonly devices: readonly (Omit<DeviceReport, 'pushToken'> & {
    /** The last {@link TOKEN_CHARACTERS} characters of the push token. */
    readonly token: string
  })[]
  readonly messages: readonly MessageReport[]
}

/** The answer of `POST /notify`. */
export interface NotifyAnswer {
  readonly devices: readonly TestOutcome[]
}

export interface StationParts {
  readonly reports: StationReports
  /** Sends a test notification. Resolves with undefined if the station is not registered. */
  readonly notify: (station: StationKey, text: string | undefined) => Promise<readonly TestOutcome[] | undefined>
  /** Returns the wall-clock time in milliseconds. */
  readonly now: () => number
}

/** Answers the requests about single stations, as JSON for programs and as HTML for people. */
export class StationAnswers {
  readonly #parts: StationParts

  constructor(parts: StationParts) {
    this.#parts = parts
  }

  /** `GET /stations` */
  async list(query: URLSearchParams): Promise<Page> {
    const answer = await this.#list(query)
    return answer ? jsonPage(200, answer) : wrongAfter()
  }

  /** `GET /stations/CALL` */
  async station(call: string): Promise<Page> {
    const report = await this.#report(call)
    return report ? jsonPage(200, stationAnswer(report)) : notRegistered()
  }

  /** `GET /view` */
  async viewList(query: URLSearchParams): Promise<Page> {
    const answer = await this.#list(query)
    return answer ? htmlPage(renderStationList(answer, this.#parts.now())) : wrongAfter()
  }

  /** `GET /view/CALL` */
  async viewStation(call: string): Promise<Page> {
    const report = await this.#report(call)
    return report ? htmlPage(renderStationPage(stationAnswer(report), this.#parts.now())) : notRegistered()
  }

  /** `POST /notify` */
  async notify(body: Buffer): Promise<Page> {
    const request = notifyRequest(body)
    if (!request)
      return jsonPage(400, {
        error: 'invalid_request',
        message: `The body must be { "station": "CALL-SSID", "text": "…" }. The text is optional and has at most ${MAX_TEXT_CHARACTERS} characters.`,
      })
    const devices = await this.#parts.notify(request.station, request.text)
    return devices ? jsonPage(200, { devices } satisfies NotifyAnswer) : notRegistered()
  }

  /** Returns a page of the list of stations; undefined if the query parameter `after` is no valid station. */
  async #list(query: URLSearchParams): Promise<StationListAnswer | undefined> {
    const written = query.get('after') ?? ''
    const afterKey = written === '' ? '' : parseStationKey(written)
    if (afterKey === undefined) return undefined
    const summaries = await this.#parts.reports.list(afterKey, PAGE_STATIONS + 1)
    const stations = summaries.slice(0, PAGE_STATIONS)
    return { stations, next: summaries.length > PAGE_STATIONS ? (stations.at(-1)?.station ?? null) : null }
  }

  async #report(call: string): Promise<StationReport | undefined> {
    const station = parseStationKey(call)
    return station === undefined ? undefined : this.#parts.reports.get(station)
  }
}

/** Converts a report to the answer of `GET /stations/CALL`. Names each member, so that new ones stay private. */
function stationAnswer({ station, avatarHash, devices, messages }: StationReport): StationAnswer {
  return {
    station,
    avatarHash,
    devices: devices.map(
      ({ platform, pushToken, tokenDead, ackMessages, registeredAt, lastSeenAt, pending, lastPush }) => ({
        platform,
        token: pushToken.slice(-TOKEN_CHARACTERS),
        tokenDead,
        ackMessages,
        registeredAt,
        lastSeenAt,
        pending,
        lastPush,
      }),
    ),
    messages: messages.map(({ from, to, seqId, time, ackedAt }) => ({ from, to, seqId, time, ackedAt })),
  }
}

/** Parses the JSON body of `POST /notify`. Returns undefined if it is invalid. */
function notifyRequest(body: Buffer): { readonly station: StationKey; readonly text: string | undefined } | undefined {
  try {
    const { station, text } = Object(parseBody(body))
    const key = typeof station === 'string' ? parseStationKey(station) : undefined
    const isText = text === undefined || (typeof text === 'string' && text.length <= MAX_TEXT_CHARACTERS)
    return key !== undefined && isText ? { station: key, text } : undefined
  } catch {
    return undefined
  }
}

function wrongAfter(): Page {
  return jsonPage(400, {
    error: 'invalid_request',
    message: 'The parameter "after" must be a station, such as N0CALL-7.',
  })
}

function notRegistered(): Page {
  return jsonPage(404, { error: 'not_registered', message: 'There is no such station.' })
}
