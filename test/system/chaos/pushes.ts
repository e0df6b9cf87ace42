import type { Happenings } from './happenings.ts'
import type { Shown } from './phones.ts'

/** One run of whoever sends notifications. */
export interface Life {
  /** Ended by `kill -9`. */
  killed: boolean
}

/** A notification that a gateway took. */
interface Push {
  /** Where it went: a token, or the address of a subscription. */
  readonly target: string
  /** The newest message that it tells of. */
  readonly id: string
  readonly count: number
  readonly body: string
  /** Of the instance that sent it, where that is known. */
  readonly life: Life | undefined
}

/** What phones were told of, by whom. */
export class Pushes {
  readonly all: Push[] = []
  /** Told of where a notification went. */
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

  /** The newest message that a phone was told of. */
  newestOf(target: string): string | undefined {
    return this.#newest.get(target)
  }

  /**
   * Messages of the history that no notification told the phone of. One tells of its newest, and those right before it.
   */
  untold(target: string, history: readonly Shown[]): readonly string[] {
    const notified = new Set<number>()
    for (const { place, count } of this.#placed(target, history))
      for (let index = place; index > place - count; index--) notified.add(index)
    return history.filter((_, place) => !notified.has(place)).map(({ id }) => id)
  }

  /**
   * How often a phone was told of nothing newer than before. `excused`: where the life that had told it before was
   * killed, perhaps before it could say so to the others.
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

  /** With the place of its newest message in the station's history; -1 where it is not there. */
  #placed(target: string, history: readonly Shown[]) {
    const places = new Map(history.map(({ id }, place) => [id, place]))
    return this.of(target).map((push) => ({ ...push, place: places.get(push.id) ?? -1 }))
  }
}
