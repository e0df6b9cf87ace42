import type { Target } from '../target.ts'

/** Loads the targets, by their names. A wrong command line needs none of them, and they take a second to load. */
export const TARGETS: Readonly<Record<string, () => Promise<Target>>> = {
  packets: async () => (await import('./packets.ts')).packets,
  lines: async () => (await import('./lines.ts')).lines,
  configuration: async () => (await import('./configuration.ts')).configuration,
  avatars: async () => (await import('./avatars.ts')).avatars,
  subscriptions: async () => (await import('./subscriptions.ts')).subscriptions,
  'client-addresses': async () => (await import('./client-addresses.ts')).clientAddresses,
  'http-requests': async () => (await import('./http-requests.ts')).httpRequests,
}
