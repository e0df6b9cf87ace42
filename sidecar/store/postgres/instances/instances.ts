import { randomUUID } from 'node:crypto'
import { type Clock, type Timer, within } from '../../../clock.ts'
import { StoreError } from '../../../errors.ts'
import type { Log } from '../../../log.ts'
import { type Instance, type Instances, LEASE_MS } from '../../../messages/leases.ts'
import type { Postgres } from '../database/connection.ts'

const BEAT_MS = 1000
/** At the start the name may still be that of a life that ended just now, without saying so. */
const TAKEN_FOR_MS = LEASE_MS + 2000
const TRY_MS = 500
const LEAVE_MS = 200

const TAKE = 'SELECT take_name($1, $2, $3) AS taken'
const LEAVE = 'SELECT leave($1, $2)'
const LIST = `
  SELECT name, started_at AS "startedAt", note FROM instance
  WHERE owner <> '' AND abs(now_ms() - seen_at) < ${LEASE_MS} ORDER BY name`

/** This instance among the others, as the rest of the store sees it. */
export interface OwnInstance extends Instances {
  /** What leases are held as: another for each life of one name. */
  readonly owner: string
  /** Another instance has taken the name, as after a long standstill of this one. */
  isTaken(): boolean
  /** Lets go of the name, and of all leases. */
  close(): Promise<void>
}

/** Says each second that it is there. Rejects with `instance_taken` where another instance goes on under that name. */
export async function openInstance(
  postgres: Pick<Postgres, 'query' | 'read'>,
  name: string,
  clock: Clock,
  log: Log,
): Promise<OwnInstance> {
  const owner = randomUUID()
  let note = ''
  let taken = false
  let closed = false
  let beating: Timer | undefined
  let underWay: Promise<void> | undefined

  async function take(): Promise<boolean> {
    const [answer] = await postgres.query<{ taken: boolean }>(TAKE, [name, owner, note])
    return answer?.taken === true
  }

  async function beat(): Promise<void> {
    try {
      const before = taken
      taken = !(await take())
      if (taken && !before) {
        const error = new StoreError('instance_taken')
        log.error('instance-taken', `${error.message} ${error.remedy}`, { instance: name })
      }
    } catch {
      // The connection says what is wrong, and for how long.
    }
    if (!closed) planBeat()
  }

  function planBeat(): void {
    beating = clock.after(BEAT_MS, () => {
      underWay = beat()
    })
  }

  const begun = clock.elapsed()
  while (!(await take())) {
    if (clock.elapsed() - begun > TAKEN_FOR_MS) throw new StoreError('instance_taken')
    await new Promise<void>((resolve) => clock.after(TRY_MS, resolve))
  }
  planBeat()

  return {
    name,
    owner,
    isTaken: () => taken,
    async list() {
      const found = await postgres.read<Instance>(LIST)
      // The others see it at the next beat.
      return found.map((one) => (one.name === name ? { ...one, note } : one))
    },
    publishNote(text) {
      note = text
    },
    async close() {
      closed = true
      beating?.cancel()
      const leaving = async () => {
        await underWay
        await postgres.query(LEAVE, [name, owner])
      }
      await within(LEAVE_MS, leaving(), clock).catch(() => undefined) // then the name and the leases lapse
    },
  }
}
