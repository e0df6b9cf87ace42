import { expect } from 'chai'
import { endedInDatabase, keyOfSealed } from '../../../../plugin/host/meshcentral/ended.ts'
import { endSealed } from '../../../../plugin/host/meshcentral/guard.ts'
import type { Members, MeshCookie, MeshDatabase } from '../../../../plugin/host/meshcentral/server.ts'
import { databaseOf } from './stand-in.ts'

const USER = 'user//~oidc:1'

describe('what has ended, in the database of MeshCentral', () => {
  const opened: { close(): void }[] = []
  const open = (db: MeshDatabase, now = () => 1_000) => {
    const ended = endedInDatabase(db, now)
    opened.push(ended)
    return ended
  }
  afterEach(() => {
    for (const one of opened.splice(0)) one.close()
  })

  it('is known after a restart', async () => {
    const rows = new Map<string, Members>()
    await open(databaseOf(rows)).revoke(['a', 'b'], 900, 5_000)
    const after = open(databaseOf(rows))
    expect(await after.endedAt(['b'])).to.equal(900)
    expect(await after.endedAt(['c'])).to.equal(undefined)
    expect(after.latest(['a'], '')).to.equal(900)
  })

  it('is everything that is sealed, until the database has answered', async () => {
    const ended = open(databaseOf())
    expect(ended.latest(['a'], '')).to.equal(Number.POSITIVE_INFINITY)
    expect(await ended.endedAt(['a'])).to.equal(undefined)
    expect(ended.latest(['a'], '')).to.equal(undefined)
  })

  it('is refused while the database is being written', async () => {
    const ended = open(databaseOf())
    await ended.endedAt([])
    const written = ended.revoke(['a'], 900, 5_000)
    expect(await ended.endedAt(['a'])).to.equal(900)
    await written
  })

  it('leaves the database when it has run out', async () => {
    const rows = new Map<string, Members>()
    await open(databaseOf(rows)).revoke(['a'], 900, 5_000)
    expect(rows.size).to.equal(1)
    const later = open(databaseOf(rows), () => 5_000)
    expect(await later.endedAt(['a'])).to.equal(undefined)
    expect(rows.size).to.equal(0)
  })

  it('is unknown to everybody when the database cannot be read, and an ending that is not written is told', async () => {
    const broken = {
      ...databaseOf(),
      GetAllType: (_type: string, done: (error: unknown, rows: null) => void) => done('no', null),
    }
    const message = (work: Promise<unknown>) =>
      work.then(
        () => 'fine',
        (error: Error) => error.message,
      )
    expect(await message(open(broken).endedAt(['a']))).to.match(/could not read which sessions have ended/)
    const full: MeshDatabase = { ...databaseOf(), Set: (_row, done) => done?.(new Error('disk full')) }
    const ended = open(full)
    expect(await message(ended.revoke(['a'], 900, 5_000))).to.match(/could not write/)
    expect(await ended.endedAt(['a'])).to.equal(900)
  })

  describe('and cookies that MeshCentral sealed', () => {
    const unsealed = async (cookie: MeshCookie | null, ending?: readonly string[]) => {
      const ended = open(databaseOf())
      if (ending) await ended.revoke(ending, 10_500, 50_000)
      else await ended.endedAt([])
      return endSealed(() => cookie, ended, new Set(['']))('sealed', 'key', 60)
    }
    const own = [keyOfSealed('', USER)]

    it('open as before where nothing has ended', async () => {
      const cookie = { userid: USER, time: 10_000 }
      expect(await unsealed(cookie)).to.equal(cookie)
      expect(await unsealed(null)).to.equal(null)
    })

    it('do not open when they are from before the end, in whichever member they name the user', async () => {
      for (const name of [{ userid: USER }, { ruserid: USER }, { u: USER, a: 3 }]) {
        expect(await unsealed({ ...name, time: 10_000 }, own)).to.equal(null)
        expect(await unsealed({ ...name, time: 11_000 }, own)).to.deep.equal({ ...name, time: 11_000 })
        expect(await unsealed({ ...name }, own)).to.equal(null)
      }
    })

    it('open for other users, for users with a password, and for guests whom the user invited', async () => {
      for (const cookie of [
        { userid: 'user//~oidc:2', time: 10_000 },
        { userid: 'user//admin', time: 10_000 },
        { userid: 'user/other/~oidc:1', time: 10_000 },
        { uid: USER, time: 10_000 },
        { u: USER, a: 5, time: 10_000 },
      ]) {
        expect(await unsealed(cookie, own)).to.equal(cookie)
      }
    })

    it('do not open for anybody of the domain when nobody knows whose session has ended', async () => {
      expect(await unsealed({ userid: USER, time: 10_000 }, [keyOfSealed('')])).to.equal(null)
    })
  })
})
