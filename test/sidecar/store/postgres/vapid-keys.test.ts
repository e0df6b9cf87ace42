import { readdir, writeFile } from 'node:fs/promises'
import { expect } from 'chai'
import { makeVapidKeys } from '../../../../sidecar/config/vapid-keys.ts'
import type { Keyring } from '../../../../sidecar/messages/keyring.ts'
import { checkStart } from '../../../../sidecar/operator/commands/check.ts'
import { agreeOnVapidKeys } from '../../../../sidecar/push/web-push/shared-vapid-keys.ts'
import { settingsOf } from '../../../support/read-settings.ts'
import { recordedLog } from '../../../support/recorded-log.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'
import { rejection } from '../sqlite/temporary-stores.ts'
import { postgresStores } from './postgres-stores.ts'

const SUBJECT = 'mailto:operator@example.org'

describe('The VAPID keys of Web Push on PostgreSQL', () => {
  const stores = postgresStores()
  const folder = temporaryFolder()
  const { log, lines, shown } = recordedLog()
  const agree = (keyring: Keyring | undefined, webpush: object = { subject: SUBJECT }) =>
    agreeOnVapidKeys(settingsOf({ database: stores.address, push: { webpush } }, folder.path()), keyring, log)
  const instances = (...names: string[]) => Promise.all(names.map((instance) => stores.open({ instance })))
  /** Writes a key file. Returns its keys, and the `push.webpush` settings that use it. */
  async function keyFile(name: string) {
    const keys = makeVapidKeys()
    await writeFile(folder.path(name), JSON.stringify(keys))
    return { keys, webpush: { subject: SUBJECT, keyFile: name } }
  }
  const stored = () => stores.run('SELECT name, value FROM keyring')

  // Shows: sidecar P1.1.
  it('one of several starting instances creates the VAPID keys that all then use', async () => {
    const opened = await instances('a', 'b', 'c')
    const keys = await Promise.all(opened.map(({ keyring }) => agree(keyring)))
    expect(keys[0]?.publicKey).to.be.a('string')
    expect(keys[1]).to.deep.equal(keys[0])
    expect(keys[2]).to.deep.equal(keys[0])
    expect(shown('event')).to.deep.equal(['webpush-keys-made'])
    expect(JSON.stringify(lines)).to.not.include(keys[0]?.privateKey)
    const [later] = await instances('d')
    expect(await agree(later?.keyring)).to.deep.equal(keys[0])
    expect(await readdir(folder.path())).to.deep.equal([])
  })

  it('creates no VAPID keys in the database while Web Push is off', async () => {
    const [first] = await instances('a')
    expect(await agree(first?.keyring, {})).to.equal(undefined)
    expect(await stored()).to.deep.equal([])
  })

  // Shows: sidecar P1.1.
  it("takes VAPID keys from the first instance's file, and refuses another file", async () => {
    const [ownKeys, second] = [await keyFile('own.json'), await keyFile('other.json')]
    const [a, b] = await instances('a', 'b')
    expect(await agree(a?.keyring, ownKeys.webpush)).to.deep.equal(ownKeys.keys)
    expect(await agree(b?.keyring)).to.deep.equal(ownKeys.keys)
    const error = await rejection(agree(b?.keyring, second.webpush))
    expect(error.message).to.include('other.json differ from those in the database')
    expect(error.remedy).to.include('Remove push.webpush.keyFile')
  })

  it('--check compares a VAPID key file with the database, and stores no keys', async () => {
    const [ownKeys, second] = [await keyFile('own.json'), await keyFile('other.json')]
    const check = async ({ webpush }: typeof ownKeys) => {
      const ports = { listen: { port: 0 }, admin: { port: 0 } }
      const settings = settingsOf({ database: stores.address, push: { webpush }, ...ports }, folder.path())
      return (await checkStart(settings)).errors
    }
    expect(await check(ownKeys)).to.deep.equal([])
    const [first] = await instances('a')
    expect(await check(ownKeys)).to.deep.equal([])
    expect(await stored()).to.deep.equal([])
    await agree(first?.keyring, ownKeys.webpush)
    expect(await check(ownKeys)).to.deep.equal([])
    const [refused, ...furtherErrors] = await check(second)
    expect(refused).to.match(/VAPID keys in .* differ from those in the database.*Remove push\.webpush\.keyFile/)
    expect(furtherErrors).to.deep.equal([])
  })

  it('refuses damaged VAPID keys without quoting them, and never replaces them', async () => {
    const [a] = await instances('a')
    const keys = await agree(a?.keyring)
    await stores.run('UPDATE keyring SET value = left(value, 150)')
    const earlier = await stored()
    const error = await rejection(agree(a?.keyring))
    expect(error.message).to.equal('The VAPID keys in the database are damaged.')
    expect(error.message + error.remedy).to.not.include(keys?.privateKey.slice(0, 10))
    expect(await stored()).to.deep.equal(earlier)
  })
})
