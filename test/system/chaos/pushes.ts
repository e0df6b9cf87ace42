import type { Happenings } from './happenings.ts'
import type { Shown } from './phones.ts'

/** One run of an instance that sends notifications. */
export interface Life {
  /** Ended by `kill -9`. */
  killed: boolean
}

/** A notification that a gateway took. */
interface Push {
  /** Target of the notification: a push token, or the address of a Web Push subscription. */
  readonly target: string
  /** The newest message of the notification. */
  readonly id: string
  readonly count: number
  readonly body: string
  /** The run that sent it, if known. */
  readonly life: Life | undefined
}

/** Notifications that phones received, by sender. */
export class Pushes {
  readonly all: Push[] = []
  /** Called with the target of each notification. */
  onPush: (target: string) => void = () => {}
  readonly #newest = new Map<string, string>()
  readonly #happenings: Happenings

  constructor(happenings: Happenings) {
    this.#happenings = happenings
  }

  take(target: string, data: Readonly<Record<string, unknown>>, body: unknown, life?: Life): void {
    const { fromCall, to, seqId, count } = data
    const push = { target, id: `${fromCall} ${to} ${seqId}`, count: Number(count), body: String(body), life }
    this.all.push(push)
    this.#newest.set(target, push.id)
    this.onPush(target)
    this.#happenings.tell()
  }

  of(wanted: string): readonly Push[] {
    return this.all.filter(({ target }) => target === wanted)
  }

  /** Returns the newest message that a phone was notified of. */
  newestOf(target: string): string | undefined {
    return this.#newest.get(target)
  }

  /**
   * Returns the messages of the history that no notification covered. A notification covers its newest message and
   * those right before it.
   */
  untold(target: string, history: readonly Shown[]): readonly string[] {
    const notified = new Set<number>()
    for (const { place, count } of this.#placed(target, history))
      for (let index = place; index > place - count; index--) notified.add(index)
    return history.filter((_, place) => !notified.has(place)).map(({ id }) => id)
  }

  /**
   * Counts notifications without news for a phone. `excused`: the earlier sender was killed, perhaps before it could
   * tell the others.
   */
  twice(
    target: string,
    history: readonly Shown[],
  ): { readonly excused: number; readonly inexcusable: readonly string[] } {
    let newest: { readonly place: number; readonly life: Life | undefined } | undefined
    let excused = 0
    const inexcusable: string[] = []
    for (const { place, life, id } of this.#placed(target, history)) {
      if (!newest || place > newest.place) newest = { place, life }
      else if (newest.life?.killed) excused += 1
      else inexcusable.push(id)
    }
    return { excused, inexcusable }
  }

  /**
   * Returns the pushes to a target, each with the position of its newest message in `history`; -1 if that is missing.
   */
  #placed(target: string, history: readonly Shown[]) {
    const places = new Map(history.map(({ id }, place) => [id, place]))
    return this.of(target).map((push) => ({ ...push, place: places.get(push.id) ?? -1 }))
  }
}
