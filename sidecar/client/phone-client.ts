import { type AppStore, type AvatarStore, avatarsInMemory } from './app-store.ts'
import { createAvatarBook } from './avatar-book.ts'
import { avatarHash, type OwnAvatar } from './avatar-hash.ts'
import { type CallsOptions, createCalls } from './calls.ts'
import { ClientError } from './client-error.ts'
import { createCursor } from './cursor.ts'
import { createJobQueue } from './job-queue.ts'
import { readPush } from './push-data.ts'
import { platformTimers } from './timers.ts'
import type { DeviceClaim, Platform, RegisterAnswer, RegisterBody } from './wire/bodies.ts'

/** Source: Other operations. */
const HEARTBEAT_MS = 6 * 60 * 60 * 1000

export interface ClientOptions extends Omit<CallsOptions, 'signal'> {
  readonly callsign: string
  /** 0 to 99, or at most two of A-Z and 0-9; null for none. */
  readonly ssid: number | string | null
  /** The APRS-IS passcode of the callsign. */
  readonly passcode: number
  readonly platform: Platform
  /** FCM's registration token, APNs' device token in hex, or the JSON text of a Web Push subscription. */
  readonly pushToken: string
  /** Whether the sidecar is to acknowledge messages in the station's name. Default: false, the app does. */
  readonly ackMessages?: boolean
  /** The station's own avatar; null: it took it away. Default: it never had one, and what the server holds stays. */
  readonly avatar?: OwnAvatar | null
  readonly store: AppStore
  readonly avatars?: AvatarStore
  /** From 0 to below 1: how long to wait, and the device id where there is no Web Crypto. Default: `Math.random`. */
  readonly random?: () => number
}

/**
 * One station's phone. Calls go out one at a time; each method's promise is for its own first try and rejects with a
 * {@link ClientError}, or with what the app's store threw. What failed for a passing reason is tried again by itself,
 * after a delay that grows from seconds to 15 minutes.
 */
export interface PhoneClient {
  /** At each launch: registers, brings what was missed, and from then on registers every 6 hours. */
  start(): Promise<void>
  /** Brings what is new: registers first where that is due, or the server has forgotten the station. */
  sync(): Promise<void>
  /**
   * For each push that the app gets while it runs, as the platform hands it over: keeps the sender's avatar, and syncs.
   */
  pushReceived(data: unknown): Promise<void>
  /**
   * The same for a tap on a notification. Resolves with whose conversation to open, also when the sync has to wait;
   * undefined for a push of others.
   */
  pushTapped(data: unknown): Promise<string | undefined>
  /** The platform gave the app another token. */
  setPushToken(pushToken: string): Promise<void>
  /**
   * Null takes the avatar away. Rejects with `invalid_request` where the server does not take it; the station stays
   * registered.
   */
  setAvatar(avatar: OwnAvatar | null): Promise<void>
  /** The network is back: does not wait for the next try. */
  networkChanged(): void
  /**
   * Has the server forget this phone, and with the station's last one its messages; registers no more, until
   * {@link start}.
   */
  unregister(): Promise<void>
  /**
   * Ends what is under way, all waiting and the heartbeat. The station stays registered. Resolves once the app's stores
   * are left alone: what was being saved is saved by then (so they must not wait for it themselves).
   */
  close(): Promise<void>
}

/** Loads the state from the store; sends nothing yet. */
export async function createClient(options: ClientOptions): Promise<PhoneClient> {
  const { callsign, ssid, passcode, platform, ackMessages = false, store } = options
  const { avatars = avatarsInMemory(), timers = platformTimers, random = Math.random } = options
  const ending = new AbortController()
  const calls = createCalls({ ...options, signal: ending.signal })
  const cursor = createCursor(store, (await store.load()) ?? { cursor: 0 }, random)
  const claim = { callsign, ssid, auth: passcode }
  let { pushToken, avatar } = options
  /** Hash of an avatar that the server does not take. */
  let refusedHash: string | undefined
  let registeredAt: number | undefined
  let heartbeat: { cancel(): void } | undefined
  /** The station is to be unregistered: what was asked for before, or comes by a late push, does not bring it back. */
  let left = false

  const book = createAvatarBook(avatars, async (stations) => (await calls.avatars({ ...claim, stations })).avatars)

  async function device(): Promise<DeviceClaim> {
    return { ...claim, deviceId: await cursor.deviceId() }
  }

  function ownHash(): string {
    return avatar ? avatarHash(avatar) : ''
  }

  async function registration(): Promise<RegisterBody> {
    return { ...(await device()), platform, pushToken, ackMessages, avatarHash: ownHash() }
  }

  /** Whether the server is known to hold another avatar than it should. */
  function isAvatarDue(): boolean {
    const { avatarHash: confirmed } = cursor.state
    const hash = ownHash()
    return avatar !== undefined && confirmed !== undefined && confirmed !== hash && hash !== refusedHash
  }

  function planHeartbeat(): void {
    heartbeat?.cancel()
    if (ending.signal.aborted || left) return
    heartbeat = timers.after(HEARTBEAT_MS, () => {
      // Before this one, which may be refused for good, by an operator's mistake that is mended by the next.
      planHeartbeat()
      queue.run('heartbeat').catch(() => {})
    })
  }

  async function registered(answer: RegisterAnswer): Promise<void> {
    await cursor.confirm(answer.avatarHash)
    registeredAt = timers.now()
    planHeartbeat()
  }

  async function beat(): Promise<void> {
    await registered(await calls.register(await registration()))
  }

  async function uploadAvatar(): Promise<void> {
    const { icon, image } = avatar ?? { icon: '', image: '' }
    const body = await registration()
    try {
      await registered(await calls.register({ ...body, avatarIcon: icon, avatarImage: image, avatarUpdate: true }))
    } catch (error) {
      if (error instanceof ClientError && error.code === 'invalid_request') {
        await beat()
        // Without it all is well. It would be refused at every heartbeat, and the station forgotten over it.
        refusedHash = body.avatarHash ?? undefined
      }
      throw error
    }
  }

  async function launch(): Promise<void> {
    if (left) return
    planHeartbeat()
    const body = await registration()
    const answer = await cursor.take((since) => calls.register({ ...body, wantHistory: true, since }))
    await registered(answer)
    await book.advertised(answer.avatars)
    if (isAvatarDue()) await uploadAvatar()
  }

  function isHeartbeatDue(): boolean {
    // Timers stand still while the phone sleeps.
    return registeredAt === undefined || Math.abs(timers.now() - registeredAt) >= HEARTBEAT_MS
  }

  async function sync(): Promise<void> {
    if (isHeartbeatDue()) return launch()
    try {
      const phone = await device()
      const answer = await cursor.take((since) => calls.sync({ ...phone, since }))
      await book.advertised(answer.avatars)
    } catch (error) {
      if (!(error instanceof ClientError) || error.code !== 'not_registered') throw error
      await cursor.confirm(undefined)
      await launch()
    }
  }

  async function keepRegistered(): Promise<void> {
    if (left) return
    if (!isAvatarDue()) await beat()
    if (isAvatarDue()) await uploadAvatar()
  }

  async function unregister(): Promise<void> {
    if (!left) return
    heartbeat?.cancel()
    registeredAt = undefined
    await calls.unregister(await device()).catch((error: unknown) => {
      if (!(error instanceof ClientError) || error.code !== 'not_registered') throw error
    })
    await cursor.confirm(undefined)
  }

  /** Avatars that pushes brought, on their way into the app's store. */
  const keeping = new Set<Promise<void>>()

  function kept(avatar: Promise<void>): Promise<void> {
    keeping.add(avatar)
    return avatar.finally(() => keeping.delete(avatar))
  }

  const queue = createJobQueue({ jobs: { launch, sync, heartbeat: keepRegistered, unregister }, timers, random })

  async function pushReceived(data: unknown): Promise<void> {
    const push = readPush(data)
    if (push && !ending.signal.aborted) await kept(book.pushed(push))
    await queue.run('sync')
  }

  return {
    start() {
      left = false
      return queue.run('launch')
    },
    sync: () => queue.run('sync'),
    pushReceived,
    async pushTapped(data) {
      await pushReceived(data).catch((error: unknown) => {
        if (!(error instanceof ClientError)) throw error
      })
      return readPush(data)?.fromCall
    },
    async setPushToken(token) {
      if (token === pushToken) return
      pushToken = token
      await queue.run('heartbeat')
    },
    async setAvatar(own) {
      avatar = own
      refusedHash = undefined
      await queue.run('heartbeat')
    },
    networkChanged: () => queue.hurry(),
    unregister() {
      left = true
      return queue.run('unregister')
    },
    async close() {
      heartbeat?.cancel()
      const ended = queue.close()
      ending.abort()
      await Promise.all([ended, ...[...keeping].map((one) => one.catch(() => {}))])
    },
  }
}
