import { createHash } from 'node:crypto'
import type { Clock } from '../../clock.ts'
import { isJsonObject } from '../../config/json/json-object.ts'
import type { LoginTokens, UserId } from '../../host/port.ts'
import { askDatabase, WRITE_LIMIT_MS } from '../database.ts'
import { type MeshDatabase, userKey } from '../server.ts'

/**
 * `suspended`: group rules refused the user's last login. `no_login`: none was noted yet. `too_old`: the last one was
 * too long ago.
 */
export type TokenVerdict =
  | { readonly works: true; readonly until: number }
  | { readonly works: false; readonly reason: 'suspended' | 'no_login' | 'too_old' }

/** Whether MeshCentral's login tokens (`~t:…`) of an account work, as its IdP and the group rules have it. */
export interface MeshLoginTokens extends LoginTokens {
  /**
   * @param user MeshCentral's id of the user
   * @throws Error when the database does not answer: then no token works
   */
  verdictOn(user: string): Promise<TokenVerdict>
}

export interface LoginTokensOptions {
  readonly db: MeshDatabase
  readonly clock: Clock
  /** Days after the last login or renewal that tokens work for; null: without limit. */
  readonly days: number | null
  /** Ends what MeshCentral itself began for the user. */
  readonly endDirectLogins: (user: string) => Promise<void>
}

const TYPE = 'meshcompanionlogin'
/** A session is renewed every few minutes, and days count. */
const NOTED_MS = 60 * 60_000
/** Users whose last note this process remembers; the one noted longest ago is forgotten first. */
const MOST_NOTED = 10_000
const DAY_MS = 24 * 60 * 60_000

/**
 * Two records of each account in MeshCentral's database, so that restarts and peers know of them: when its user last
 * came from the IdP, and whether login tokens are suspended. They are two because a renewal that is under way must not
 * write over a suspension.
 */
export function meshLoginTokens({ db, clock, days, endDirectLogins }: LoginTokensOptions): MeshLoginTokens {
  /**
   * Suspensions that are not in the database: the record is being written, or could not be. A login at another server
   * ends the others.
   */
  const suspended = new Set<string>()
  const noted = new Map<string, number>()

  async function read(kind: Kind, user: string): Promise<Record<string, unknown> | undefined> {
    const found = await askDatabase<unknown>(clock, 'read whether login tokens work', (done) =>
      db.Get(idOf(kind, user), done),
    )
    const [record]: readonly unknown[] = Array.isArray(found) ? found : []
    return isJsonObject(record) ? record : undefined
  }

  async function write(kind: Kind, user: string): Promise<void> {
    const record = { type: TYPE, _id: idOf(kind, user), domain: '', at: clock.now() }
    await askDatabase(clock, 'write whether login tokens work', (done) => db.Set(record, done), WRITE_LIMIT_MS)
  }

  async function noteSeen(user: string): Promise<void> {
    await write('seen', user)
    noted.delete(user)
    noted.set(user, clock.elapsed())
    const [oldest] = noted.keys()
    if (noted.size > MOST_NOTED && oldest !== undefined) noted.delete(oldest)
  }

  async function resume(user: string): Promise<void> {
    if (!suspended.has(user) && !(await read('suspended', user))) return
    const id = idOf('suspended', user)
    await askDatabase(clock, 'write whether login tokens work', (done) => db.Remove(id, done), WRITE_LIMIT_MS)
    suspended.delete(user)
  }

  return {
    async confirm(domainKey: string, id: UserId, by) {
      const user = userKey(domainKey, id)
      const notedAt = noted.get(user) ?? Number.NEGATIVE_INFINITY
      if (by === 'renewal' && clock.elapsed() - notedAt < NOTED_MS) return
      await noteSeen(user)
      if (by === 'login') await resume(user)
    },

    async suspend(domainKey: string, id: UserId) {
      const user = userKey(domainKey, id)
      suspended.add(user)
      const written = write('suspended', user).then(() => suspended.delete(user))
      const all = [written, endDirectLogins(user)]
      await Promise.allSettled(all)
      await Promise.all(all)
    },

    async verdictOn(user) {
      if (suspended.has(user) || (await read('suspended', user))) return { works: false, reason: 'suspended' }
      if (days === null) return { works: true, until: Number.POSITIVE_INFINITY }
      const at = (await read('seen', user))?.at
      if (typeof at !== 'number') return { works: false, reason: 'no_login' }
      const until = at + days * DAY_MS
      return until > clock.now() ? { works: true, until } : { works: false, reason: 'too_old' }
    },
  }
}

type Kind = 'seen' | 'suspended'

/** A digest, because some databases have ids of 256 characters and take capitals for small letters. */
function idOf(kind: Kind, user: string): string {
  return `${TYPE}/${kind}/${createHash('sha256').update(user).digest('hex')}`
}
