import { Duplex } from 'node:stream'
import type { Listen, ServedStream } from '../../fixtures/aprsis/listen-tcp.ts'
import type { Connect } from '../../sidecar/aprsis/connection/connect-tcp.ts'

/** Most that one read returns, and that waits unread before its writer must wait. */
const PIECE_BYTES = 65_536

/**
 * Connections in memory instead of TCP. Data arrives before the event loop's next turn. So when a `FakeClock` advances,
 * everything has arrived, however busy the machine is.
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

  /** From now on what is written, opened and ended stays on its way. */
  hold(): void {
    this.#held ??= []
  }

  /** Lets the oldest piece on its way arrive; false where there is none. */
  step(): boolean {
    const oldest = this.#held?.shift()
    oldest?.()
    return oldest !== undefined
  }

  /** Lets everything arrive, in order, and from now on at once. */
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
  /** The writer of the other side goes on. */
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
    // Sockets emit their end even if no data is read, once none is left.
    this.read(0)
  }
}

function failure(code: string): Error {
  return Object.assign(new Error(code), { code })
}
