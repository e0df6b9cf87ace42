import type pg from 'pg'
import { type Clock, within } from '../../../clock.ts'
import { StoreError } from '../../../errors.ts'
import type { DatabaseAddress } from './address.ts'
import { rememberedTimeline, type SessionSettings, setUpSession, timelineOf } from './session.ts'

/** One of the configured hosts, with the options to connect to it. */
export type HostConfig = DatabaseAddress & Pick<pg.ClientConfig, 'ssl'>

interface PrimaryParts {
  readonly hosts: readonly HostConfig[]
  /** Creates a client that is not connected yet. */
  readonly createClient: (host: HostConfig) => pg.Client
  readonly clock: Clock
  /** Called when another host has become the primary. */
  readonly onMove: () => void
  /** Called when the server at the other end of the connections may no longer be the primary. */
  readonly onTakeover: () => void
  /** Called when every writable host has a timeline older than the newest one seen. */
  readonly onOlder: (error: StoreError) => void
}

const CONNECT_MS = 5000
const CLOSE_MS = 500

/**
 * Tracks which of the configured hosts is the primary, and its timeline. Each promotion of a standby begins a new
 * timeline, so the writable host with the newest one is the primary.
 *
 * The timeline is 0 until a connection finds one, and then only increases. A connection to an older one is refused,
 * because new writes there would be lost. When a connection finds a newer one, all connections end, because they may
 * lead to the old primary.
 *
 * With several hosts, {@link locate} queries all of them and switches to the primary.
 */
export class Primary {
  readonly #parts: PrimaryParts
  #current = 0
  #timeline = 0
  #isLocating = false
  #isClosed = false

  constructor(parts: PrimaryParts) {
    this.#parts = parts
  }

  /** The host to which new connections are opened. */
  get host(): HostConfig | undefined {
    return this.#parts.hosts[this.#current]
  }

  /** The newest timeline seen; 0 before the first connection, and if the server does not reveal its timeline. */
  get timeline(): number {
    return this.#timeline
  }

  /** Applies the session settings to a new connection. Rejects if the connected server is not the primary. */
  async admit(client: pg.ClientBase, session: SessionSettings): Promise<void> {
    await setUpSession(client, session)
    const timeline = await timelineOf(client)
    if (timeline === 0) throw new StoreError('database_read_only')
    if (timeline === undefined || timeline === this.#timeline) return
    const remembered = (await rememberedTimeline(client)) ?? 0
    if (timeline < Math.max(remembered, this.#timeline)) throw new StoreError('database_older')
    const former = this.#timeline
    // Meanwhile, another connection found this timeline too.
    if (timeline === former) return
    this.#timeline = timeline
    if (former === 0) return
    this.#parts.onTakeover()
    throw new StoreError('database_unreachable')
  }

  /** Looks for the primary, if several hosts are configured. */
  locate(): void {
    if (this.#parts.hosts.length === 1 || this.#isLocating) return
    this.#isLocating = true
    void this.moveOn().finally(() => {
      this.#isLocating = false
    })
  }

  /** Queries all hosts, and switches to the primary. Never rejects. */
  async moveOn(): Promise<void> {
    const better = await this.#betterHost()
    if (better === undefined || this.#isClosed) return
    this.#current = better
    this.#parts.onMove()
  }

  close(): void {
    this.#isClosed = true
  }

  async #betterHost(): Promise<number | undefined> {
    const timelines = await Promise.all(this.#parts.hosts.map((host) => this.#timelineAt(host)))
    const best = Math.max(...timelines)
    if (best > 0 && best < this.#timeline) this.#parts.onOlder(new StoreError('database_older'))
    return best >= this.#timeline && best > (timelines[this.#current] ?? 0) ? timelines.indexOf(best) : undefined
  }

  /**
   * Returns the host's timeline; 0 if the host is not writable, and 1 if it is writable but does not reveal its
   * timeline.
   */
  async #timelineAt(host: HostConfig): Promise<number> {
    const { createClient, clock } = this.#parts
    const client = createClient(host)
    client.on('error', () => undefined)
    try {
      await within(CONNECT_MS, client.connect(), clock)
      return (await within(CONNECT_MS, timelineOf(client), clock)) ?? 1
    } catch {
      return 0
    } finally {
      await within(CLOSE_MS, client.end(), clock).catch(() => undefined)
    }
  }
}
