import { pathToFileURL } from 'node:url'
import { expect } from 'chai'
import sqlite3 from 'sqlite3'
import type { Accounts, UserId } from '../../../plugin/index.ts'
import { codeBlocks, readDocument, section } from '../../support/documents.ts'
import { errorOf } from '../../support/error-of.ts'
import { createFolder } from '../../support/file-folder.ts'

const TEXT = section(readDocument('plugin/docs/your-own-server.md'), '## A user table of your own')
const EXISTING: UserId = '~oidc:0d2c9a3e-6f0b-4c1e-9a53-1f6f0d1c7f11'
const NEW: UserId = '~oidc:u-2'

describe('documented host with its own user table', () => {
  // Shows: plugin 9.48.
  it('the documented user table admits password and OpenID users with unique e-mails', async () => {
    const folder = await createFolder('own-table')
    const database = new sqlite3.Database(':memory:')
    const execute = (sql: string) =>
      new Promise<void>((resolve, reject) => database.exec(sql, (error) => (error ? reject(error) : resolve())))
    try {
      await execute(`CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT, email TEXT UNIQUE, password_hash TEXT,
          is_admin INTEGER NOT NULL DEFAULT 0, disabled INTEGER NOT NULL DEFAULT 0);
        INSERT INTO users (id, name, email, is_admin) VALUES (7, 'Alice', 'alice@example.test', 1);
        INSERT INTO users (id, name, email) VALUES (8, 'Bob', 'bob@example.test')`)
      for (const sql of codeBlocks(TEXT, 'sql')) await execute(sql)
      const [code = '', forBothLogins = ''] = codeBlocks(TEXT, 'js')
      const file = await folder.write('users.mjs', code)
      const { ownAccounts } = (await import(pathToFileURL(file).href)) as {
        ownAccounts: (database: sqlite3.Database) => Accounts
      }
      const accounts = ownAccounts(database)
      const old = { id: EXISTING, name: 'Alice', email: 'alice@example.test', siteAdmin: true, locked: false }
      expect(await accounts.find('', EXISTING)).to.deep.equal(old)

      const profile = { name: 'Alice Example', email: 'alice@new.test', emailVerified: true }
      await accounts.update('', { ...profile, id: EXISTING, issuer: 'https://idp.test' })
      await accounts.update('', { ...profile, id: EXISTING })
      const updated = { ...old, name: profile.name, email: profile.email, issuer: 'https://idp.test' }
      expect(await accounts.find('', EXISTING)).to.deep.equal(updated)

      const mallory = { id: NEW, name: 'Mallory', email: 'bob@example.test', emailVerified: false }
      const shown: string[] = []
      const print = console.error
      console.error = (text: string) => shown.push(text)
      try {
        expect(String(await errorOf(Promise.resolve(accounts.create('', mallory))))).to.match(/UNIQUE constraint/)
        expect(await accounts.find('', NEW)).to.equal(undefined)
        await accounts.create('', { ...mallory, email: null })
        expect(await accounts.find('', NEW)).to.include({ name: 'Mallory', email: null, siteAdmin: false })
        const again = await errorOf(Promise.resolve(accounts.create('', { ...mallory, email: null })))
        expect(String(again)).to.match(/UNIQUE/)
      } finally {
        console.error = print
      }
      expect(shown).to.deep.equal([
        'SQLITE_CONSTRAINT: UNIQUE constraint failed: users.email',
        'SQLITE_CONSTRAINT: UNIQUE constraint failed: users.oidc_id',
      ])
      await accounts.setSiteAdmin('', NEW, true)
      expect(await accounts.find('', NEW)).to.include({ siteAdmin: true })

      const signedIn: { account?: { id: UserId } } = {}
      const requiresUser = new Function('oidc', 'database', `${forBothLogins}\nreturn requiresUser`)(
        { account: async () => signedIn.account },
        database,
      ) as (req: object, res: object, next: () => void) => void
      /** Resolves with the name of the admitted user, or with the address of the redirect. */
      const visit = (session: object) =>
        new Promise((resolve) => {
          const locals: { user?: { name: string } } = {}
          const redirect = (_status: number, address: string) => resolve(address)
          requiresUser({ session }, { locals, redirect }, () => resolve(locals.user?.name))
        })
      expect(await visit({})).to.equal('/login')
      expect(await visit({ userId: 8 })).to.equal('Bob')
      signedIn.account = { id: NEW }
      expect(await visit({})).to.equal('Mallory')
      await execute("UPDATE users SET disabled = 1 WHERE name = 'Mallory'")
      expect(await visit({})).to.equal('/login')
      expect(await accounts.find('', NEW)).to.include({ locked: true })
    } finally {
      database.close()
      await folder.remove()
    }
  })
})
