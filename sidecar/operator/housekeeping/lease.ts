import type { Clock, Timer } from '../../clock.ts'
import { LEASE_MS, type Leases } from '../../messages/leases.ts'

const RENEW_MS = LEASE_MS / 3

/**
 * Runs `work` where this process gets the lease `name`, and keeps it until that is over. It is not given back: to
 * others whose clocks are a little behind, the same hour is yet to come. Should the lease be lost on the way, two do
 * the work: for what may be done twice.
 */
export async function underLease(
  leases: Pick<Leases, 'hold'>,
  name: string,
  clock: Pick<Clock, 'after'>,
  work: () => Promise<void>,
): Promise<void> {
  if (!(await leases.hold([name])).has(name)) return
  const renewLater = (): Timer =>
    clock.after(RENEW_MS, () => {
      leases.hold([name]).catch(() => undefined)
      timer = renewLater()
    })
  let timer = renewLater()
  try {
    await work()
  } finally {
    timer.cancel()
  }
}
