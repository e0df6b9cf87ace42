import type { StationKey, Stations } from '../../messages/store.ts'
import type { SenderAvatar } from '../gateway/notification.ts'

/** The avatars of `senders`, their images read all at once. Rejects where the store does. */
export async function senderAvatars(
  stations: Pick<Stations, 'get' | 'avatars'>,
  senders: readonly StationKey[],
): Promise<(sender: StationKey) => SenderAvatar> {
  const stateOf = (sender: StationKey) => stations.get(sender)?.avatar.state
  const withAvatar = new Set(senders.filter((sender) => stateOf(sender) === 'set'))
  const stored = withAvatar.size > 0 ? await stations.avatars([...withAvatar]) : undefined
  return (sender) => stored?.get(sender) ?? (stateOf(sender) === 'cleared' ? 'cleared' : 'none')
}
