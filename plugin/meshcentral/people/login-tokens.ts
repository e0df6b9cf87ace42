import { createHash } from 'node:crypto'
import type { Clock } from '../../clock.ts'
import { isJsonObject } from '../../config/json/json-object.ts'
import type { LoginTokens, UserId } from '../../host/port.ts'
import { askDatabase, WRITE_LIMIT_MS } from '../database.ts'
import { type MeshDatabase, userKey } from '../server.ts'

/**
 * Whether a login token works, and until when (milliseconds since 1970). If not:
 * - `suspended`: group rules refused the user's last login.
 * - `no_login`: no login was recorded yet.
 * - `too_old`: the last login is too long ago.
 */
export type TokenVerdict =
  | { readonly works: true; readonly until: number }
  | { readonly works: false; readonly reason: 'suspended' | 'no_login' | 'too_old' }

export interface LoginTokensOptions {
  readonly db: MeshDatabase
  readonly clock: Clock
  /** The number of days for which tokens work after the user's last login or renewal. Null if there is no limit. */
  readonly days: number | null
  /** Ends the sessions that MeshCentral itself began for a user. */
  readonly endDirectLogins: (user: string) => Promise<void>
}

type Kind = 'seen' | 'suspended'

const TYPE = 'meshcompanionlogin'
/**
 * Least time between two writes of the time of a user's last renewal. Sessions are renewed every few minutes, but the
 * limit for login tokens is in days.
 */
const NOTED_MS = 60 * 60_000
/** Limit of users whose last write is remembered. Beyond it, the oldest entry is dropped. */
const MOST_NOTED = 10_000
const DAY_MS = 24 * 60 * 60_000

/**
 * Decides whether an account's login tokens work. A login token (`~t:…`) is MeshCentral's password for programs.
 *
 * Each account has up to two records in MeshCentral's database, which peers can read: when the IdP last admitted the
 * user, and whether tokens are suspended. As they are separate, a renewal cannot overwrite a suspension.
 *
 * A suspension starts when group rules refuse the user, and ends with the next successful login.
 */
export class MeshLoginTokens implements LoginTokens {
  readonly #options: LoginTokensOptions
  /**
   * Suspended users for whom the database has no entry, so that a login at another server cannot end the suspension.
   */
  readonly #suspended = new Set<string>()
  /** Maps each user to the time when the last login or renewal was written, in milliseconds of `Clock.elapsed`. */
  readonly #noted = new Map<string, number>()

  constructor(options: LoginTokensOptions) {
    this.#options = options
  }

  async confirm(domainKey: string, id: UserId, occasion: 'login' | 'renewal'): Promise<void> {
    const user = userKey(domainKey, id)
    const notedAt = this.#noted.get(user) ?? Number.NEGATIVE_INFINITY
    if (occasion === 'renewal' && this.#options.clock.elapsed() - notedAt < NOTED_MS) return
    await this.#noteSeen(user)
    if (occasion === 'login') await this.#resume(user)
  }

  async suspend(domainKey: string, id: UserId): Promise<void> {
    const user = userKey(domainKey, id)
    this.#suspended.add(user)
    const written = this.#write('suspended', user).then(() => this.#suspended.delete(user))
    const all = [written, this.#options.endDirectLogins(user)]
    await Promise.allSettled(all)
    await Promise.all(all)
  }

  /**
   * Decides whether a user's login tokens work now.
   *
   * @param user MeshCentral's id
   * @throws Error if the database does not answer. Then refuse the token
   */
  async verdictOn(user: string): Promise<TokenVerdict> {
    const { clock, days } = this.#options
    if (this.#suspended.has(user) || (await this.#read('suspended', user))) return { works: false, reason: 'suspended' }
    if (days === null) return { works: true, until: Number.POSITIVE_INFINITY }
    const seenAt = (await this.#read('seen', user))?.at
    if (typeof seenAt !== 'number') return { works: false, reason: 'no_login' }
    const until = seenAt + days * DAY_MS
    return until > clock.now() ? { works: true, until } : { works: false, reason: 'too_old' }
  }

  async #noteSeen(user: string): Promise<void> {
    await this.#write('seen', user)
    this.#noted.delete(user)
    this.#noted.set(user, this.#options.clock.elapsed())
    const [oldest] = this.#noted.keys()
    if (this.#noted.size > MOST_NOTED && oldest !== undefined) this.#noted.delete(oldest)
  }

  async #resume(user: string): Promise<void> {
    if (!this.#suspended.has(user) && !(await this.#read('suspended', user))) return
    const { db, clock } = this.#options
    const id = idOf('suspended', user)
    await askDatabase(clock, 'write whether login tokens work', (done) => db.Remove(id, done), WRITE_LIMIT_MS)
    this.#suspended.delete(user)
  }

  async #read(kind: Kind, user: string): Promise<Record<string, unknown> | undefined> {
    const { db, clock } = this.#options
    const records = await askDatabase<unknown>(clock, 'read whether login tokens work', (done) =>
      db.Get(idOf(kind, user), done),
    )
    const [record]: readonly unknown[] = Array.isArray(records) ? records : []
    return isJsonObject(record) ? record : undefined
  }

  async #write(kind: Kind, user: string): Promise<void> {
    const { db, clock } = this.#options
    const record = { type: TYPE, _id: idOf(kind, user), domain: '', at: clock.now() }
    await askDatabase(clock, 'write whether login tokens work', (done) => db.Set(record, done), WRITE_LIMIT_MS)
  }
}

/**
 * Returns the id of a user's record. It contains a digest of the user's id, because some databases limit ids to 256
 * characters or ignore letter case.
 */
function idOf(kind: Kind, user: string): string {
  return `${TYPE}/${kind}/${createHash('sha256').update(user).digest('hex')}`
}
