import type { Clock, Timer } from '../../clock.ts'
import { LEASE_MS, type Leases } from '../../messages/leases.ts'

const RENEW_MS = LEASE_MS / 3

/**
 * Runs `work` if this process gets the lease `name`. It keeps the lease at the end; otherwise a process with a slow
 * clock would repeat the work. `work` must be idempotent: if the lease is lost, two processes may run it.
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
