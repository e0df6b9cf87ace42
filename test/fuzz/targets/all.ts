import type { Target } from '../target.ts'
import { avatars } from './avatars.ts'
import { clientAddresses } from './client-addresses.ts'
import { configuration } from './configuration.ts'
import { httpRequests } from './http-requests.ts'
import { lines } from './lines.ts'
import { packets } from './packets.ts'
import { subscriptions } from './subscriptions.ts'

export const TARGETS: readonly Target[] = [
  packets,
  lines,
  configuration,
  avatars,
  subscriptions,
  clientAddresses,
  httpRequests,
]
