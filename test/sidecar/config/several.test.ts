import { expect } from 'chai'
import { shownAddress } from '../../../sidecar/config/postgres-address.ts'
import { makeVapidKeys } from '../../../sidecar/config/vapid-keys.ts'
import { readAddresses } from '../../../sidecar/store/postgres/database/address.ts'
import { CALLSIGN, pathsOf, problemsOf, read, settingsRead } from './reading/readings.ts'

const SECRET = 'h0rse-battery'
const ADDRESS = `postgres://mesh:${SECRET}@db.example/mesh`
const aprsis = { callsign: CALLSIGN }

describe('The configuration of several instances', () => {
  it('accepts a PostgreSQL address unchanged, from the file or the environment', () => {
    for (const address of [
      ADDRESS,
      'postgresql://db/mesh',
      'postgres://%2Frun%2Fpostgresql/mesh',
      'postgres://[::1]:5433/mesh',
    ])
      expect(settingsRead({ database: address }).database).to.equal(address)
    expect(settingsRead({}, { env: { SIDECAR_DATABASE: ADDRESS } }).database).to.equal(ADDRESS)
    // Like a value from a file with a line end.
    expect(settingsRead({}, { env: { SIDECAR_DATABASE: ` ${ADDRESS}\n` } }).database.trim()).to.equal(ADDRESS)
    expect(settingsRead({ database: 'postgres/x.sqlite' }).database).to.equal('/etc/sidecar/postgres/x.sqlite')
  })

  it("reads the instance's name and aprsis.listeners from the environment", () => {
    const env = {
      SIDECAR_INSTANCE: 'b',
      SIDECAR_APRSIS_LISTENERS: '3',
      SIDECAR_APRSIS_LISTEN: 'false',
      SIDECAR_DATABASE: ADDRESS,
    }
    const settings = settingsRead({ instance: 'a' }, { env })
    expect(settings.instance).to.equal('b')
    expect(settings.aprsis).to.include({ listeners: 3, listen: false })
    expect(read({ instance: 'a' }, { env }).warnings).to.deep.equal([])
  })

  it('refuses invalid or unsupported database addresses without quoting them', () => {
    for (const address of [
      'postgres://',
      `mysql://mesh:${SECRET}@db.example/mesh`,
      `postgress://mesh:${SECRET}@db.example/mesh`,
      'postgres:///mesh',
      `postgres://mesh:${SECRET}@db.example:port/mesh`,
      `postgres://mesh:${SECRET}%zz@db.example/mesh`,
      `postgres://mesh:${SECRET}@db.example/mesh/more`,
      `postgres://mesh:${SECRET}@db.example/mesh#more`,
      `${ADDRESS}?sslmode=disable`,
      `postgres://mesh:5432?${SECRET}@db.example/mesh`,
      `postgres://mesh:${SECRET}@db.example,/mesh`,
      `postgres://mesh:${SECRET}@db.example,other:x/mesh`,
      `postgres://mesh:${SECRET}@db.example,other/mesh?target_session_attrs=any`,
    ]) {
      const problems = problemsOf({ database: address })
      expect(problems.map(({ path }) => path)).to.deep.equal(['database'])
      expect(JSON.stringify(problems)).not.to.include(SECRET)
    }
    expect(problemsOf({ database: `${ADDRESS}?sslmode=disable` })[0]?.reason).to.equal('has a parameter')
  })

  it('accepts several hosts in a database address, and shows no user or password', () => {
    const several = `postgres://mesh:${SECRET}@db.example,[::1]:5433,other:5434/mesh`
    for (const database of [
      several,
      `${several}?target_session_attrs=read-write`,
      `${several}?target_session_attrs=primary`,
    ]) {
      expect(problemsOf({ database })).to.deep.equal([])
      expect(shownAddress(database)).to.equal('db.example,[::1]:5433,other:5434/mesh')
      expect(
        readAddresses(database).map(({ host, port, user, password }) => [host, port, user, password]),
      ).to.deep.equal([
        ['db.example', 5432, 'mesh', SECRET],
        ['::1', 5433, 'mesh', SECRET],
        ['other', 5434, 'mesh', SECRET],
      ])
    }
  })

  it('refuses fewer than 1 or more than 4 listeners, and malformed instance names', () => {
    expect(pathsOf({ database: ADDRESS, aprsis: { ...aprsis, listeners: 0 } })).to.deep.equal(['aprsis.listeners'])
    expect(pathsOf({ database: ADDRESS, aprsis: { ...aprsis, listeners: 5 } })).to.deep.equal(['aprsis.listeners'])
    for (const instance of ['', 'a b', '-a', 'x'.repeat(64), 'ä'])
      expect(pathsOf({ database: ADDRESS, instance }), instance).to.deep.equal(['instance'])
  })

  it('refuses a databaseTls.caFile that is missing or not a certificate', () => {
    const settings = { database: ADDRESS, databaseTls: { caFile: 'ca.pem' } }
    expect(pathsOf(settings)).to.deep.equal(['databaseTls.caFile'])
    expect(pathsOf(settings, { files: { '/etc/sidecar/ca.pem': 'none' } })).to.deep.equal(['databaseTls.caFile'])
  })

  // Shows: sidecar P1.8.
  it('refuses a stations.max that needs more login callsigns than all listeners have', () => {
    const settings = (max: number, listeners = 2, database = ADDRESS) =>
      pathsOf({ database, stations: { max }, aprsis: { ...aprsis, listeners } })
    expect(settings(36_080)).to.deep.equal([])
    expect(settings(36_081)).to.deep.equal(['stations.max'])
    expect(settings(20_000, 4)).to.deep.equal(['stations.max'])
    expect(pathsOf({ stations: { max: 100_000 } })).to.deep.equal([])
  })

  // Shows: sidecar P1.5.
  it('refuses backup.folder if the database is PostgreSQL', () => {
    const backup = { folder: '/var/backups/mesh' }
    expect(pathsOf({ database: ADDRESS, backup })).to.deep.equal(['backup.folder'])
    expect(pathsOf({ database: 'sidecar.sqlite', backup })).to.deep.equal([])
    expect(pathsOf({ database: ADDRESS, backup: { folder: null } })).to.deep.equal([])
  })

  it('on PostgreSQL, Web Push needs no key file, but a configured one must be valid', () => {
    const webpush = (keyFile: string | null) => ({
      database: ADDRESS,
      push: { webpush: { subject: 'mailto:operator@example.org', keyFile } },
    })
    expect(pathsOf(webpush(null))).to.deep.equal([])
    expect(pathsOf(webpush('keys.json'))).to.deep.equal(['push.webpush.keyFile'])
    const files = { '/etc/sidecar/keys.json': JSON.stringify(makeVapidKeys()) }
    expect(pathsOf(webpush('keys.json'), { files })).to.deep.equal([])
    const damaged = problemsOf(webpush('keys.json'), { files: { '/etc/sidecar/keys.json': '{}' } })
    expect(damaged.map(({ reason }) => reason)).to.deep.equal([
      'names /etc/sidecar/keys.json, which is not a file with VAPID keys, or is damaged',
    ])
  })
})
