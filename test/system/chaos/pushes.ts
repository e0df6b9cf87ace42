import type { Happenings } from './happenings.ts'
import type { Shown } from './phones.ts'

interface Push {
  readonly to: string
  /** The newest message that it tells of. */
  readonly id: string
  readonly count: number
  readonly body: string
}

/** Notifications that the gateways accepted. */
export class Pushes {
  readonly all: Push[] = []
  /** Told of the station that a notification is for. */
  onPush: (key: string) => void = () => {}
  readonly #happenings: Happenings

  constructor(happenings: Happenings) {
    this.#happenings = happenings
  }

  take(data: Readonly<Record<string, unknown>>, body: unknown): void {
    const { fromCall, to, seqId, count } = data
    this.all.push({ to: String(to), id: `${fromCall} ${to} ${seqId}`, count: Number(count), body: String(body) })
    this.onPush(String(to))
    this.#happenings.tell()
  }

  of(key: string): readonly Push[] {
    return this.all.filter(({ to }) => to === key)
  }

  /** Messages of a station's history that no notification told of. One tells of its newest, and those right before it. */
  untold(key: string, history: readonly Shown[]): readonly string[] {
    const places = new Map(history.map(({ id }, place) => [id, place]))
    const told = new Set<number>()
    for (const { id, count } of this.of(key)) {
      const newest = places.get(id)
      if (newest === undefined) continue
      for (let place = newest; place > newest - count; place--) told.add(place)
    }
    return history.filter((_, place) => !told.has(place)).map(({ id }) => id)
  }
}
