import { isDeepStrictEqual } from 'node:util'
import { claim, registration } from '../../../support/running-api.ts'
import type { Happenings } from '../happenings.ts'
import { type Post, type Shown, shownOf } from '../phones.ts'

/** Whom a phone calls. */
export interface Callee {
  readonly name: string
  readonly post: Post
}

/** Calls that are kept, to be told of where a phone went astray. */
const MOST_CALLS = 100

/** The app of one station. It calls any instance, each time another one, and syncs from the newest cursor of every answer. */
export class Caller {
  readonly key: string
  readonly acks: boolean
  readonly shown: Shown[] = []
  calling = false
  /** Answers that were 500. */
  failures = 0
  readonly #callsign: string
  readonly #registration: object
  readonly #ids = new Set<string>()
  readonly #calls: string[] = []
  readonly #happenings: Happenings
  readonly #mayFail: () => boolean
  #cursor = 0

  /** `mayFail`: whether an instance has reason to answer 500 now. */
  constructor(index: number, happenings: Happenings, mayFail: () => boolean) {
    this.#callsign = `N${index}C`
    this.key = `${this.#callsign}-7`
    this.acks = index % 3 !== 2
    this.#happenings = happenings
    this.#mayFail = mayFail
    const token = index.toString(16).padStart(64, '0')
    const [platform, pushToken] = index % 2 === 0 ? ['android', `token-of-${this.#callsign}`] : ['ios', token]
    this.#registration = registration(this.#callsign, { platform, pushToken, ackMessages: this.acks })
  }

  /** False where there was no answer. */
  async register(callee: Callee): Promise<boolean> {
    const answer = await this.#answered(callee, '/v1/register', this.#registration)
    // It may be older: what is newer, another instance may know alone.
    if (answer) this.#cursor = Math.max(this.#cursor, answer.serverTime)
    return answer !== undefined
  }

  async sync(callee: Callee): Promise<boolean> {
    const since = this.#cursor
    const answer = await this.#answered(callee, '/v1/sync', { ...claim(this.#callsign), since })
    if (!answer) return false
    let last = since
    for (const shown of answer.messages.map(shownOf)) {
      if (shown.time <= last || shown.time >= answer.serverTime)
        this.#happenings.blame(
          `${this.key} was shown ${shown.id} of ${shown.time} behind ${last} and before ${answer.serverTime}`,
        )
      if (this.#ids.has(shown.id)) this.#happenings.blame(`${this.key} was shown ${shown.id} twice`)
      last = shown.time
      this.#ids.add(shown.id)
      this.shown.push(shown)
    }
    if (answer.serverTime < since)
      this.#happenings.blame(`a sync of ${this.key} gave ${answer.serverTime} after ${since}`)
    this.#cursor = Math.max(since, answer.serverTime)
    return true
  }

  /** The whole history, without touching the cursor; undefined where there was no answer. */
  async history(callee: Callee): Promise<readonly Shown[] | undefined> {
    const answer = await this.#answered(callee, '/v1/sync', { ...claim(this.#callsign), since: 0 })
    return answer?.messages.map(shownOf)
  }

  hasShown(id: string): boolean {
    return this.#ids.has(id)
  }

  /** Where what it was shown bit by bit is not `history`, message for message and in that order; undefined where it is. */
  astray(history: readonly Shown[]): string | undefined {
    if (isDeepStrictEqual(this.shown, history)) return undefined
    const skipped = history.filter(({ id }) => !this.#ids.has(id))
    const kept = new Set(history.map(({ id }) => id))
    const other = this.shown.filter(({ id }) => !kept.has(id))
    const named = (shown: readonly Shown[]) => shown.map(({ id, time }) => `${id} of ${time}`).join(', ')
    return `${this.key}: it was not shown [${named(skipped)}], and alone has [${named(other)}]; its calls were ${this.#calls.join('; ')}`
  }

  async #answered({ name, post }: Callee, path: string, request: object) {
    // Where the trouble begins or ends meanwhile, it explains the answer too.
    const before = this.#mayFail()
    const begun = Date.now()
    const answer = await post(path, request)
    const got = answer
      ? `${answer.status} ${answer.body.serverTime} with ${answer.body.messages?.length ?? 'no'} messages`
      : 'no answer'
    this.#calls.push(`${begun} +${Date.now() - begun} ms ${path} at ${name} from ${this.#cursor}: ${got}`)
    if (this.#calls.length > MOST_CALLS) this.#calls.shift()
    if (answer?.status === 200) return answer.body
    if (answer?.status === 500 && (before || this.#mayFail())) this.failures += 1
    else if (answer)
      this.#happenings.blame(`${path} of ${this.key} was answered with ${answer.status} ${JSON.stringify(answer.body)}`)
    return undefined
  }
}
