import { Duplex } from 'node:stream'
import type { Listen, ServedStream } from '../../fixtures/aprsis/listen-tcp.ts'
import type { Connect } from '../../sidecar/aprsis/connection/connect-tcp.ts'

/** Limit of the bytes of one read, and of unread data before the writer must wait. */
const PIECE_BYTES = 65_536

/**
 * Connections in memory instead of TCP. Data arrives before the next turn of the event loop. So when a `FakeClock`
 * advances, all data has arrived, even on a busy machine.
 */
export class MemoryNetwork {
  readonly #accepting = new Map<number, (stream: ServedStream) => void>()
  #lastPort = 14_580
  #held: (() => void)[] | undefined

  readonly connect: Connect = ({ port }) => {
    const [near, far] = [new MemoryStream(this.#arrive, false), new MemoryStream(this.#arrive, true)]
    near.other = far
    far.other = near
    this.#arrive(() => {
      const accept = this.#accepting.get(port)
      if (near.destroyed) return
      if (!accept) {
        near.destroy(failure('ECONNREFUSED'))
        return
      }
      near.emit('connect')
      accept(far)
    })
    return near
  }

  readonly listen: Listen = async (wanted, accept) => {
    this.#lastPort += 1
    const port = wanted || this.#lastPort
    this.#accepting.set(port, accept)
    return { port, close: async () => void this.#accepting.delete(port) }
  }

  /** From now on, delays everything: connections, data and ends. {@link step} or {@link release} lets them arrive. */
  hold(): void {
    this.#held ??= []
  }

  /** Lets the oldest delayed item arrive. Returns false if there is none. */
  step(): boolean {
    const oldest = this.#held?.shift()
    oldest?.()
    return oldest !== undefined
  }

  /** Lets all delayed items arrive in order, and ends the delay. */
  release(): void {
    while (this.step());
    this.#held = undefined
  }

  readonly #arrive = (task: () => void): void => {
    if (this.#held) this.#held.push(task)
    else process.nextTick(task)
  }
}

class MemoryStream extends Duplex implements ServedStream {
  declare other: MemoryStream
  readonly #arrive: (task: () => void) => void
  /** Lets the waiting writer of the other side continue. */
  #goOn = () => {}
  #over = false

  constructor(arrive: (task: () => void) => void, allowHalfOpen: boolean) {
    super({ allowHalfOpen, highWaterMark: PIECE_BYTES })
    this.#arrive = arrive
  }

  override _write(bytes: Buffer, _encoding: BufferEncoding, written: () => void): void {
    this.#arrive(() => {
      const { other: peer } = this
      const rest = bytes.subarray(PIECE_BYTES)
      const next = rest.length > 0 && !peer.#over ? () => this._write(rest, 'binary', written) : written
      if (peer.#over || peer.push(bytes.subarray(0, PIECE_BYTES))) next()
      else peer.#goOn = next
    })
  }

  override _read(): void {
    const goOn = this.#goOn
    this.#goOn = () => {}
    goOn()
  }

  override _final(ended: () => void): void {
    this.#arrive(() => {
      this.other.#end()
      ended()
    })
  }

  override _destroy(error: Error | null, destroyed: (error: Error | null) => void): void {
    this.#over = true
    this.#goOn()
    this.#arrive(() => this.other.#end())
    destroyed(error)
  }

  resetAndDestroy(): void {
    this.#arrive(() => this.other.destroy(failure('ECONNRESET')))
    this.destroy()
  }

  #end(): void {
    if (this.#over) return
    this.#over = true
    this.push(null)
    // A socket emits `end` even if nobody reads, once all data has been read.
    this.read(0)
  }
}

function failure(code: string): Error {
  return Object.assign(new Error(code), { code })
}
