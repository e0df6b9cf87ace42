import { randomUUID } from 'node:crypto'
import { type Clock, type Timer, within } from '../../../clock.ts'
import { StoreError } from '../../../errors.ts'
import type { Log } from '../../../log.ts'
import { type Instance, type Instances, LEASE_MS } from '../../../messages/leases.ts'
import type { Postgres } from '../database/connection.ts'

const BEAT_MS = 1000
/**
 * Time in milliseconds that a start waits for its name. If a process of the same name crashed, the name is free only
 * after that process's lease has expired.
 */
const TAKEN_FOR_MS = LEASE_MS + 2000
const TRY_MS = 500
const LEAVE_MS = 200

const TAKE = 'SELECT take_name($1, $2, $3) AS taken'
const LEAVE = 'SELECT leave($1, $2)'
const LIST = `
  SELECT name, started_at AS "startedAt", note FROM instance
  WHERE owner <> '' AND abs(now_ms() - seen_at) < ${LEASE_MS} ORDER BY name`

/** The registration of this process as an instance, for other modules of the store. */
export interface OwnInstance extends Instances {
  /** A random id under which this process holds leases. Two processes with the same name have different ids. */
  readonly owner: string
  /** Returns whether another instance has taken the name, for example because this process hung for a long time. */
  isTaken(): boolean
  /** Releases the name and all leases. */
  close(): Promise<void>
}

/** Registers this process under `name`. Rejects with `instance_taken` if another instance keeps that name. */
export async function openInstance(
  postgres: Pick<Postgres, 'query' | 'read'>,
  name: string,
  clock: Clock,
  log: Log,
): Promise<OwnInstance> {
  const instance = new NamedInstance(postgres, name, clock, log)
  await instance.open()
  return instance
}

/**
 * Keeps this process registered under its name.
 *
 * `open` takes the name, and waits while an earlier process of that name seems to hold it. Then a heartbeat renews the
 * name each second. If another instance has taken it (`isTaken`), this is logged once, and the heartbeats may regain
 * it. `close` releases it. If the database does not answer, the name and the leases expire.
 *
 * Public methods are arrow functions, because callers pass them on as plain functions.
 */
class NamedInstance implements OwnInstance {
  readonly #postgres: Pick<Postgres, 'query' | 'read'>
  readonly #clock: Clock
  readonly #log: Log
  readonly name: string
  readonly owner = randomUUID()
  #note = ''
  #isTaken = false
  #isClosed = false
  #timer: Timer | undefined
  #beating: Promise<void> | undefined

  constructor(postgres: Pick<Postgres, 'query' | 'read'>, name: string, clock: Clock, log: Log) {
    this.#postgres = postgres
    this.name = name
    this.#clock = clock
    this.#log = log
  }

  async open(): Promise<void> {
    const begun = this.#clock.elapsed()
    while (!(await this.#take())) {
      if (this.#clock.elapsed() - begun > TAKEN_FOR_MS) throw new StoreError('instance_taken')
      await new Promise<void>((resolve) => this.#clock.after(TRY_MS, resolve))
    }
    this.#planBeat()
  }

  readonly isTaken = (): boolean => this.#isTaken

  readonly list = async (): Promise<readonly Instance[]> => {
    const instances = await this.#postgres.read<Instance>(LIST)
    // The note that this process published comes from memory. Other instances see it only after the next heartbeat.
    return instances.map((instance) =>
      instance.name === this.name ? { name: this.name, startedAt: instance.startedAt, note: this.#note } : instance,
    )
  }

  readonly publishNote = (text: string): void => {
    this.#note = text
  }

  readonly close = async (): Promise<void> => {
    this.#isClosed = true
    this.#timer?.cancel()
    await within(LEAVE_MS, this.#leave(), this.#clock).catch(() => undefined)
  }

  async #take(): Promise<boolean> {
    const [answer] = await this.#postgres.query<{ taken: boolean }>(TAKE, [this.name, this.owner, this.#note])
    return answer?.taken === true
  }

  #planBeat(): void {
    this.#timer = this.#clock.after(BEAT_MS, () => {
      this.#beating = this.#beat()
    })
  }

  async #beat(): Promise<void> {
    try {
      const wasTaken = this.#isTaken
      this.#isTaken = !(await this.#take())
      if (this.#isTaken && !wasTaken) {
        const error = new StoreError('instance_taken')
        this.#log.error('instance-taken', `${error.message} ${error.remedy}`, { instance: this.name })
      }
    } catch {
      // An error of the heartbeat is ignored, because the connection logs faults of the database.
    }
    if (!this.#isClosed) this.#planBeat()
  }

  async #leave(): Promise<void> {
    await this.#beating
    await this.#postgres.query(LEAVE, [this.name, this.owner])
  }
}
