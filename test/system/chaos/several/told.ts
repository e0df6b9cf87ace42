import type { Shown } from '../phones.ts'
import type { Life } from './instance.ts'

/** A notification that a gateway took. */
interface Telling {
  readonly to: string
  /** The newest message that it tells of. */
  readonly id: string
  readonly count: number
  /** Of the instance that sent it. */
  readonly life: Life
}

/** What phones were told of, by whom. */
export class Told {
  readonly #all: Telling[] = []
  readonly #newest = new Map<string, string>()

  take({ fromCall, to, seqId, count }: Readonly<Record<string, unknown>>, life: Life): void {
    const telling = { to: String(to), id: `${fromCall} ${to} ${seqId}`, count: Number(count), life }
    this.#all.push(telling)
    this.#newest.set(telling.to, telling.id)
  }

  get count(): number {
    return this.#all.length
  }

  /** The newest message that the phone of the station was told of. */
  newestOf(key: string): string | undefined {
    return this.#newest.get(key)
  }

  /** Messages of a station's history that no notification told of. One tells of its newest, and those right before it. */
  untold(key: string, history: readonly Shown[]): readonly string[] {
    const told = new Set<number>()
    for (const { place, count } of this.#placed(key, history)) {
      for (let one = place; one > place - count; one--) told.add(one)
    }
    return history.filter((_, place) => !told.has(place)).map(({ id }) => id)
  }

  /**
   * How often a phone was told of nothing newer than before. `excused`: where the life that had told it before was killed, perhaps before
   * it could say so to the others.
   */
  twice(key: string, history: readonly Shown[]): { readonly excused: number; readonly inexcusable: readonly string[] } {
    let newest: { readonly place: number; readonly life: Life } | undefined
    let excused = 0
    const inexcusable: string[] = []
    for (const { place, life, id } of this.#placed(key, history)) {
      if (!newest || place > newest.place) newest = { place, life }
      else if (newest.life.killed) excused += 1
      else inexcusable.push(id)
    }
    return { excused, inexcusable }
  }

  #placed(key: string, history: readonly Shown[]) {
    const places = new Map(history.map(({ id }, place) => [id, place]))
    return this.#all
      .filter(({ to }) => to === key)
      .map((telling) => ({ ...telling, place: places.get(telling.id) ?? -1 }))
  }
}
