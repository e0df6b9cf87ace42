import type { Clock, Timer } from '../../clock.ts'
import { LEASE_MS, type Leases } from '../../messages/leases.ts'

const RENEW_MS = LEASE_MS / 3

/**
 * Runs `work` if this process gets the lease `name`, and renews the lease until `work` ends. Does not release the lease
 * at the end. Otherwise another process with a slow clock would do the same work again a little later. If the lease is
 * lost, two processes may do the work at the same time, so it must be idempotent.
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
