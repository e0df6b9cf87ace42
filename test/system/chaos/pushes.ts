import type { Happenings } from './happenings.ts'
import type { Shown } from './phones.ts'

/** One run of whoever sends notifications. */
export interface Life {
  /** Ended by `kill -9`. */
  killed: boolean
}

/** A notification that a gateway took. */
interface Push {
  readonly to: string
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
  /** Told of the station that a notification is for. */
  onPush: (key: string) => void = () => {}
  readonly #newest = new Map<string, string>()
  readonly #happenings: Happenings

  constructor(happenings: Happenings) {
    this.#happenings = happenings
  }

  take({ fromCall, to, seqId, count }: Readonly<Record<string, unknown>>, body: unknown, life?: Life): void {
    const push = { to: String(to), id: `${fromCall} ${to} ${seqId}`, count: Number(count), body: String(body), life }
    this.all.push(push)
    this.#newest.set(push.to, push.id)
    this.onPush(push.to)
    this.#happenings.tell()
  }

  of(key: string): readonly Push[] {
    return this.all.filter(({ to }) => to === key)
  }

  /** The newest message that the phone of the station was told of. */
  newestOf(key: string): string | undefined {
    return this.#newest.get(key)
  }

  /** Messages of a station's history that no notification told of. One tells of its newest, and those right before it. */
  untold(key: string, history: readonly Shown[]): readonly string[] {
    const told = new Set<number>()
    for (const { place, count } of this.#placed(key, history))
      for (let one = place; one > place - count; one--) told.add(one)
    return history.filter((_, place) => !told.has(place)).map(({ id }) => id)
  }

  /**
   * How often a phone was told of nothing newer than before. `excused`: where the life that had told it before was killed, perhaps before
   * it could say so to the others.
   */
  twice(key: string, history: readonly Shown[]): { readonly excused: number; readonly inexcusable: readonly string[] } {
    let newest: { readonly place: number; readonly life: Life | undefined } | undefined
    let excused = 0
    const inexcusable: string[] = []
    for (const { place, life, id } of this.#placed(key, history)) {
      if (!newest || place > newest.place) newest = { place, life }
      else if (newest.life?.killed) excused += 1
      else inexcusable.push(id)
    }
    return { excused, inexcusable }
  }

  /** With the place of its newest message in the station's history; -1 where it is not there. */
  #placed(key: string, history: readonly Shown[]) {
    const places = new Map(history.map(({ id }, place) => [id, place]))
    return this.of(key).map((push) => ({ ...push, place: places.get(push.id) ?? -1 }))
  }
}
