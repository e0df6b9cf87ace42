import type { Page, ScriptedBrowser } from '../../../fixtures/browser.ts'
import { startTcpRelay, type TcpRelay } from '../../support/tcp-relay.ts'
import { asksForPassword, formWith } from '../support/pages.ts'
import { BOB, type Person } from '../support/people.ts'
import type { ProviderPackage, RealIdp } from '../support/real-idp.ts'
import { type Admin, connectAdmin } from './keycloak/admin.ts'
import { toClient } from './keycloak/client.ts'
import { KEYCLOAK_VERSION, prepareDistribution } from './keycloak/distribution.ts'
import {
  addGroupScope,
  findClient,
  findUser,
  makeRealm,
  REALM,
  replaceKeys,
  sendClaimsIn,
  sessionsOf,
  setGroups,
  toUser,
} from './keycloak/realm.ts'
import { makeRealmKeys } from './keycloak/realm-keys.ts'
import { type ServerProcess, startServer } from './keycloak/server-process.ts'

/** Keycloak, with what only its own tests need. */
export interface Keycloak extends RealIdp {
  readonly admin: Admin
  /** The issuer of another realm of the same server. */
  issuerOf(realm: string): string
}

export const keycloak: ProviderPackage<Keycloak> = {
  name: 'Keycloak',
  startLimitMs: 600_000,
  async install(scratch) {
    const distribution = await prepareDistribution(scratch)
    if (distribution.kind === 'missing') return distribution
    return { kind: 'installed', idp: createKeycloak(distribution.folder) }
  },
}

interface Running {
  readonly server: ServerProcess
  readonly admin: Admin
  readonly keys: Awaited<ReturnType<typeof makeRealmKeys>>
  /**
   * Simulates an outage by cutting the connection: a start of Keycloak takes 15 seconds, and it keeps nothing on disk.
   */
  readonly relay: TcpRelay
  readonly secureRelay: TcpRelay
}

/** @param trusted see `startServer` */
export function createKeycloak(folder: string, trusted?: string): Keycloak {
  let running: Running | undefined
  const started = (): Running => {
    if (!running) throw new Error('Keycloak was not started')
    return running
  }
  const issuerOf = (realm: string) => `http://localhost:${started().relay.port}/realms/${realm}`

  return {
    version: KEYCLOAK_VERSION,
    get admin() {
      return started().admin
    },
    get issuer() {
      return issuerOf(REALM)
    },
    issuerOf,
    get secure() {
      const { server, secureRelay } = started()
      return {
        issuer: `https://localhost:${secureRelay.port}/realms/${REALM}`,
        ca: server.ca,
        clientCertificate: server.clientCertificate,
      }
    },
    cannot: {
      self_signed_tls_client_auth: 'it trusts a certificate only by its authority',
      signed_hs256: 'it signs with a key of the realm that no client knows, not with the client secret',
    },
    ownPage: new Set(['wrong_client_id', 'wrong_redirect_uri']),
    groupName: (name) => `/${name}`,

    async start() {
      if (running) {
        await running.relay.mend()
        await running.secureRelay.mend()
        return
      }
      const server = await startServer(folder, trusted)
      running = {
        server,
        admin: connectAdmin(server),
        keys: await makeRealmKeys(),
        relay: await startTcpRelay(server.port),
        secureRelay: await startTcpRelay(server.securePort),
      }
    },
    async stop() {
      await running?.relay.cut()
      await running?.secureRelay.cut()
    },
    async close() {
      await running?.relay.close()
      await running?.secureRelay.close()
      await running?.server.stop()
      running = undefined
    },
    reset: () => makeRealm(started().admin, started().keys),

    async register(registration) {
      const { admin } = started()
      const { client_id, groups, claimsIn, renewal } = registration
      if (claimsIn) await sendClaimsIn(admin, claimsIn)
      const existing = await findClient(admin, client_id)
      if (existing) await admin.delete(`/${REALM}/clients/${existing.id}`)
      await admin.post(`/${REALM}/clients`, toClient(registration))
      if (groups === 'by_scope') await addGroupScope(admin, client_id, claimsIn)
      if (renewal?.rotates !== undefined) {
        const realm = await admin.get<object>(`/${REALM}`)
        await admin.put(`/${REALM}`, { ...realm, revokeRefreshToken: renewal.rotates, refreshTokenMaxReuse: 0 })
      }
      return {}
    },
    async setPerson(person) {
      const { admin } = started()
      const { id } = await findUser(admin, person).catch(async () => {
        await admin.post(`/${REALM}/users`, toUser(person))
        return findUser(admin, person)
      })
      const { credentials: _password, ...user } = toUser(person)
      await admin.put(`/${REALM}/users/${id}`, user)
      await setGroups(admin, id, person.groups)
    },
    async disable(person) {
      const { admin } = started()
      const { id } = await findUser(admin, person)
      await admin.put(`/${REALM}/users/${id}`, { enabled: false })
    },
    acts: {
      delete: async (person) => started().admin.delete(await addressOf(started().admin, person)),
      setPassword: async (person) =>
        started().admin.put(
          `${await addressOf(started().admin, person)}/reset-password`,
          toUser(person).credentials[0],
        ),
      revokeConsent: async (person) =>
        started().admin.delete(`${await addressOf(started().admin, person)}/consents/mesh`),
    },
    rotateKeys: () => replaceKeys(started().admin),

    signIn: signInThroughPages,
    asksWho: asksForPassword,
    // The login page has no cancel button; the consent page has one.
    async cancel(browser, page) {
      const { admin } = started()
      const client = await findClient(admin, 'mesh')
      await admin.put(`/${REALM}/clients/${client?.id}`, { ...client, consentRequired: true })
      const [form] = (await browser.signIn(page, BOB.username, BOB.password)).forms
      if (!form) throw new Error('Keycloak asks for no consent')
      return browser.submit(form, {}, 'cancel')
    },
    async confirmLogout(browser, page) {
      const form = page.forms.find(({ buttons }) => buttons.some(({ name }) => name === 'confirmLogout'))
      return form ? browser.submit(form, {}, 'confirmLogout') : page
    },

    ownSessions: async (person) => (await sessionsOf(started().admin, person)).length,
    async endSessions(person, selection) {
      const { admin } = started()
      const { id } = await findUser(admin, person)
      if (selection === 'all') return admin.post(`/${REALM}/users/${id}/logout`)
      // If sessions started in the same second, the last in the list was used last.
      const newest = (await sessionsOf(admin, person)).reduce((newest, session) =>
        newest.start > session.start ? newest : session,
      )
      return admin.delete(`/${REALM}/sessions/${newest.id}`)
    },
    async events() {
      const noted = await started().admin.get<{ type: string; error?: string }[]>(`/${REALM}/events?max=100`)
      return noted.reverse().map(({ type, error }) => (error === undefined ? type : `${type} ${error}`))
    },
  }
}

const addressOf = async (admin: Admin, person: Person) => `/${REALM}/users/${(await findUser(admin, person)).id}`

async function signInThroughPages(browser: ScriptedBrowser, page: Page, { username, password }: Person): Promise<Page> {
  const form = formWith(page, 'password')
  if (!form) return page
  // A person who must sign in again sees the user name as text and types only the password.
  const named = form.fields.some(([name]) => name === 'username')
  const next = await browser.submit(form, named ? { username, password } : { password })
  const consent = next.forms.find(({ buttons }) => buttons.some(({ name }) => name === 'accept'))
  return consent ? browser.submit(consent, {}, 'accept') : next
}
