import { type AppStore, type AvatarStore, avatarsInMemory, type ClientState } from './app-store.ts'
import { type AvatarBook, createAvatarBook } from './avatar-book.ts'
import { avatarHash, type OwnAvatar } from './avatar-hash.ts'
import { type Calls, type CallsOptions, createCalls } from './calls.ts'
import { ClientError } from './client-error.ts'
import { type Cursor, createCursor } from './cursor.ts'
import { createJobQueue, type JobQueue } from './job-queue.ts'
import { readPush } from './push-data.ts'
import { platformTimers, type Timers } from './timers.ts'
import type { DeviceClaim, Platform, RegisterAnswer, RegisterBody, StationClaim } from './wire/bodies.ts'

/**
 * Time between two heartbeats, which are registrations that keep the station known to the server. Source: section Other
 * operations of the specification.
 */
const HEARTBEAT_MS = 6 * 60 * 60 * 1000

export interface ClientOptions extends Omit<CallsOptions, 'signal'> {
  readonly callsign: string
  /** The SSID: 0 to 99, or at most two characters of A-Z and 0-9; null for none. */
  readonly ssid: number | string | null
  /** The APRS-IS passcode of the callsign. */
  readonly passcode: number
  readonly platform: Platform
  /** FCM's registration token, APNs' device token in hex, or the JSON text of a Web Push subscription. */
  readonly pushToken: string
  /** Whether the sidecar acknowledges messages in the station's name. Default: false, so the app must do it. */
  readonly ackMessages?: boolean
  /** Whether this phone also receives messages addressed to other SSIDs of its callsign. Default: false. */
  readonly anySsid?: boolean
  /** Whether the app gets the acks and rejections that the station receives. Default: false. */
  readonly wantAcks?: boolean
  /**
   * The blocked senders: this phone does not get their messages. Up to 50 callsigns. A `*` at the end of an entry
   * matches any ending. Default: none.
   */
  readonly blocked?: readonly string[]
  /** The station's own avatar; null clears it. Default: undefined, so the avatar at the server stays as it is. */
  readonly avatar?: OwnAvatar | null
  readonly store: AppStore
  readonly avatars?: AvatarStore
  /**
   * Returns a random number from 0 to below 1. It spreads retry delays, and creates the device id if the platform has
   * no Web Crypto. Default: `Math.random`.
   */
  readonly random?: () => number
}

/**
 * One phone of a station. Sends one request at a time. Each method settles with its first attempt: it rejects with a
 * {@link ClientError}, or with the error of the app's store. The client itself retries temporary failures, after
 * seconds to 15 minutes.
 */
export interface PhoneClient {
  /** Call this at each launch. Registers, gets missed messages, and from then on registers every 6 hours. */
  start(): Promise<void>
  /** Gets new messages. Registers first if a heartbeat is due or the server has forgotten the station. */
  sync(): Promise<void>
  /**
   * Call this for each push while the app runs, with the data that the platform delivers. Stores the sender's avatar,
   * then syncs.
   */
  pushReceived(data: unknown): Promise<void>
  /**
   * Call this when the user taps a notification. Like {@link pushReceived}, but resolves to the callsign of the
   * conversation to open, even if the sync failed; undefined if the push is not the sidecar's.
   */
  pushTapped(data: unknown): Promise<string | undefined>
  /** Call this when the platform gives the app a new push token. */
  setPushToken(pushToken: string): Promise<void>
  /**
   * Changes the station's avatar; null clears it. Rejects with `invalid_request` if the server refuses the avatar; the
   * station stays registered.
   */
  setAvatar(avatar: OwnAvatar | null): Promise<void>
  /** Changes the list of blocked senders. This phone does not get their messages. */
  setBlocked(blocked: readonly string[]): Promise<void>
  /** Call this when the network is available again. Ends the delay before the next attempt. */
  networkChanged(): void
  /**
   * Removes this phone from the server, and with the last phone the station's messages. Only {@link start} registers
   * again.
   */
  unregister(): Promise<void>
  /**
   * Ends requests, retries and the heartbeat. The station stays registered. Resolves once the client no longer uses the
   * app's stores, so a store must not wait for `close`.
   */
  close(): Promise<void>
}

/** Creates a client, with the state that the app's store loads. Sends no request yet. */
export async function createClient(options: ClientOptions): Promise<PhoneClient> {
  const phone = new StationPhone(options, (await options.store.load()) ?? { cursor: 0 })
  // The methods are plain functions, so that an app can pass a method on as a callback.
  return {
    start: () => phone.start(),
    sync: () => phone.sync(),
    pushReceived: (data) => phone.pushReceived(data),
    pushTapped: (data) => phone.pushTapped(data),
    setPushToken: (pushToken) => phone.setPushToken(pushToken),
    setAvatar: (avatar) => phone.setAvatar(avatar),
    setBlocked: (blocked) => phone.setBlocked(blocked),
    networkChanged: () => phone.networkChanged(),
    unregister: () => phone.unregister(),
    close: () => phone.close(),
  }
}

type Job = 'launch' | 'sync' | 'heartbeat' | 'unregister'

/**
 * The client as a state machine.
 *
 * It is idle until `start`, `sync` or a push runs a job. A launch, a heartbeat or an avatar upload registers the
 * station and plans the next heartbeat. A sync does so first if a heartbeat is due or the server has forgotten the
 * station. The job queue runs one job at a time, and retries it after a temporary failure. After `unregister`, only
 * `start` registers again. `close` is final.
 *
 * Guarantees: the cursor moves only once the app's store has the messages; at most one request is open; a refused
 * avatar is not sent again.
 */
class StationPhone implements PhoneClient {
  readonly #claim: StationClaim
  readonly #platform: Platform
  readonly #ackMessages: boolean
  readonly #anySsid: boolean
  readonly #wantAcks: boolean
  readonly #timers: Timers
  readonly #ending = new AbortController()
  readonly #calls: Calls
  readonly #cursor: Cursor
  readonly #book: AvatarBook
  readonly #queue: JobQueue<Job>
  /** Writes of pushed avatars to the app's store that are in progress. `close` waits for them. */
  readonly #savingAvatars = new Set<Promise<void>>()
  #pushToken: string
  /** The station's own avatar; null if the app cleared it, undefined if the app never set one. */
  #avatar: OwnAvatar | null | undefined
  #blocked: readonly string[]
  /** Hash of an avatar that the server refused. */
  #refusedHash: string | undefined
  /** Time of the last registration, in milliseconds since 1970. */
  #registeredAt: number | undefined
  #heartbeat: { cancel(): void } | undefined
  #isUnregistered = false

  constructor(options: ClientOptions, state: ClientState) {
    const { callsign, ssid, passcode, platform, ackMessages = false } = options
    const { anySsid = false, wantAcks = false, blocked = [] } = options
    const { pushToken, avatar, store, avatars = avatarsInMemory() } = options
    const { timers = platformTimers, random = Math.random } = options
    const { baseUrl, fetch, timeoutMs } = options
    this.#claim = { callsign, ssid, auth: passcode }
    this.#platform = platform
    this.#ackMessages = ackMessages
    this.#anySsid = anySsid
    this.#wantAcks = wantAcks
    this.#timers = timers
    this.#pushToken = pushToken
    this.#avatar = avatar
    this.#blocked = blocked
    const { signal } = this.#ending
    this.#calls = createCalls({
      baseUrl,
      ...(fetch && { fetch }),
      timers,
      ...(timeoutMs !== undefined && { timeoutMs }),
      signal,
    })
    this.#cursor = createCursor(store, state, random)
    this.#book = createAvatarBook(avatars, async (stations) => {
      const answer = await this.#calls.avatars({ ...this.#claim, stations })
      return answer.avatars
    })
    this.#queue = createJobQueue({
      jobs: {
        launch: () => this.#launch(),
        sync: () => this.#syncOrLaunch(),
        heartbeat: () => this.#stayRegistered(),
        unregister: () => this.#unregisterNow(),
      },
      timers,
      random,
    })
  }

  start(): Promise<void> {
    this.#isUnregistered = false
    return this.#queue.run('launch')
  }

  sync(): Promise<void> {
    return this.#queue.run('sync')
  }

  async pushReceived(data: unknown): Promise<void> {
    const push = readPush(data)
    if (push && !this.#ending.signal.aborted) await this.#untilSaved(this.#book.pushed(push))
    await this.#queue.run('sync')
  }

  async pushTapped(data: unknown): Promise<string | undefined> {
    await this.pushReceived(data).catch((error: unknown) => {
      if (!(error instanceof ClientError)) throw error
    })
    return readPush(data)?.fromCall
  }

  async setPushToken(pushToken: string): Promise<void> {
    if (pushToken === this.#pushToken) return
    this.#pushToken = pushToken
    await this.#queue.run('heartbeat')
  }

  async setAvatar(avatar: OwnAvatar | null): Promise<void> {
    this.#avatar = avatar
    this.#refusedHash = undefined
    await this.#queue.run('heartbeat')
  }

  async setBlocked(blocked: readonly string[]): Promise<void> {
    this.#blocked = blocked
    await this.#queue.run('heartbeat')
  }

  networkChanged(): void {
    this.#queue.hurry()
  }

  unregister(): Promise<void> {
    this.#isUnregistered = true
    return this.#queue.run('unregister')
  }

  async close(): Promise<void> {
    this.#heartbeat?.cancel()
    const ended = this.#queue.close()
    this.#ending.abort()
    await Promise.all([ended, ...[...this.#savingAvatars].map((saving) => saving.catch(() => {}))])
  }

  async #launch(): Promise<void> {
    if (this.#isUnregistered) return
    this.#planHeartbeat()
    const body = await this.#registration()
    const answer = await this.#cursor.take((since) => this.#calls.register({ ...body, wantHistory: true, since }))
    await this.#noteRegistered(answer)
    await this.#book.advertised(answer.avatars)
    if (this.#isAvatarDue()) await this.#uploadAvatar()
  }

  async #syncOrLaunch(): Promise<void> {
    if (this.#isHeartbeatDue()) return this.#launch()
    try {
      const claim = await this.#deviceClaim()
      const answer = await this.#cursor.take((since) => this.#calls.sync({ ...claim, since }))
      await this.#book.advertised(answer.avatars)
    } catch (error) {
      if (!(error instanceof ClientError) || error.code !== 'not_registered') throw error
      await this.#cursor.confirm(undefined)
      await this.#launch()
    }
  }

  async #stayRegistered(): Promise<void> {
    if (this.#isUnregistered) return
    if (!this.#isAvatarDue()) await this.#register()
    if (this.#isAvatarDue()) await this.#uploadAvatar()
  }

  async #unregisterNow(): Promise<void> {
    if (!this.#isUnregistered) return
    this.#heartbeat?.cancel()
    this.#registeredAt = undefined
    await this.#calls.unregister(await this.#deviceClaim()).catch((error: unknown) => {
      if (!(error instanceof ClientError) || error.code !== 'not_registered') throw error
    })
    await this.#cursor.confirm(undefined)
  }

  async #register(): Promise<void> {
    await this.#noteRegistered(await this.#calls.register(await this.#registration()))
  }

  async #uploadAvatar(): Promise<void> {
    const { icon, image } = this.#avatar ?? { icon: '', image: '' }
    const body = await this.#registration()
    const upload = { ...body, avatarIcon: icon, avatarImage: image, avatarUpdate: true }
    try {
      await this.#noteRegistered(await this.#calls.register(upload))
    } catch (error) {
      if (error instanceof ClientError && error.code === 'invalid_request') {
        await this.#register()
        // The station is now registered without the avatar. With it, each heartbeat would fail, and the server would
        // forget the station.
        this.#refusedHash = body.avatarHash ?? undefined
      }
      throw error
    }
  }

  async #noteRegistered(answer: RegisterAnswer): Promise<void> {
    await this.#cursor.confirm(answer.avatarHash)
    this.#registeredAt = this.#timers.now()
    this.#planHeartbeat()
  }

  #planHeartbeat(): void {
    this.#heartbeat?.cancel()
    if (this.#ending.signal.aborted || this.#isUnregistered) return
    this.#heartbeat = this.#timers.after(HEARTBEAT_MS, () => {
      // The next heartbeat is planned first, so that a refused heartbeat does not end the series. The operator may
      // correct the cause meanwhile.
      this.#planHeartbeat()
      this.#queue.run('heartbeat').catch(() => {})
    })
  }

  #isHeartbeatDue(): boolean {
    // The heartbeat timer may be late, because timers stop while the phone sleeps. So the time is checked too.
    return this.#registeredAt === undefined || Math.abs(this.#timers.now() - this.#registeredAt) >= HEARTBEAT_MS
  }

  /**
   * Returns whether the client should upload the station's avatar. True if the server is known to have a different
   * avatar and has not refused this one.
   */
  #isAvatarDue(): boolean {
    const { avatarHash: confirmed } = this.#cursor.state
    const hash = this.#ownHash()
    return this.#avatar !== undefined && confirmed !== undefined && confirmed !== hash && hash !== this.#refusedHash
  }

  #ownHash(): string {
    return this.#avatar ? avatarHash(this.#avatar) : ''
  }

  async #deviceClaim(): Promise<DeviceClaim> {
    return { ...this.#claim, deviceId: await this.#cursor.deviceId() }
  }

  async #registration(): Promise<RegisterBody> {
    const claim = await this.#deviceClaim()
    return {
      ...claim,
      platform: this.#platform,
      pushToken: this.#pushToken,
      ackMessages: this.#ackMessages,
      ...(this.#anySsid && { anySsid: true }),
      ...(this.#wantAcks && { wantAcks: true }),
      ...(this.#blocked.length > 0 && { blocked: this.#blocked }),
      avatarHash: this.#ownHash(),
    }
  }

  #untilSaved(saving: Promise<void>): Promise<void> {
    this.#savingAvatars.add(saving)
    return saving.finally(() => this.#savingAvatars.delete(saving))
  }
}
