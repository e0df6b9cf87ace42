import type { Clock } from '../../clock.ts'
import type { Instances, Lease, Leases } from '../../messages/leases.ts'

/**
 * Opens the leases of a store that only one process uses. That process gets every lease that it requests. `instance` is
 * the name of the process.
 */
export function grantLeases(instance: string): Leases {
  const held = new Map<string, Lease>()
  return {
    async hold(names, note = '') {
      for (const name of names) held.set(name, { name, instance, note, mine: true })
      return new Set(names)
    },
    async release(names) {
      for (const name of names) held.delete(name)
    },
    list: async () => [...held.values()],
  }
}

/** Opens the list of instances of a store that only one process uses. The list contains only that process. */
export function onlyInstance(name: string, clock: Pick<Clock, 'now'>): Instances {
  const startedAt = clock.now()
  let note = ''
  return {
    name,
    list: async () => [{ name, startedAt, note }],
    publishNote(text) {
      note = text
    },
  }
}
