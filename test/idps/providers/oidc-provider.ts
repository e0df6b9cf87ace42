import { readFile } from 'node:fs/promises'
import { type Certificates, makeCertificates, makeClientCertificate } from '../../../fixtures/certificate.ts'
import { type Idp, type IdpOptions, startIdp } from '../../../fixtures/idp/server.ts'
import type { IdpUser } from '../../../fixtures/idp/users.ts'
import { asksForPassword } from '../support/pages.ts'
import { fullName, PEOPLE, type Person } from '../support/people.ts'
import type { ClientRegistration, ProviderPackage, RealIdp } from '../support/real-idp.ts'

/** The package behind the fixture IdP, which all other tests rely on. It must pass the same matrix. */
export const oidcProvider: ProviderPackage = {
  name: 'oidc-provider',
  startLimitMs: 30_000,
  async install() {
    const manifest = new URL('../../../node_modules/oidc-provider/package.json', import.meta.url)
    const { version } = JSON.parse(await readFile(manifest, 'utf8')) as { version: string }
    return {
      kind: 'installed',
      idp: createOidcProvider(version, await makeCertificates(), await makeClientCertificate()),
    }
  },
}

const PROFILE = ['name', 'preferred_username', 'given_name', 'family_name']

function createOidcProvider(
  version: string,
  certificates: Certificates,
  clientCertificate: Awaited<ReturnType<typeof makeClientCertificate>>,
): RealIdp {
  // A self-signed certificate is its own authority.
  const tls = { ...certificates.server, clientCertificates: true, clientAuthority: clientCertificate.cert }
  /** Two providers with the same users and clients: one over plain HTTP, one over TLS. */
  let running: { readonly plain: Idp; readonly secure: Idp } | undefined
  const started = () => {
    if (!running) throw new Error('oidc-provider was not started')
    return running
  }
  const each = (act: (idp: Idp) => unknown) => Promise.all([started().plain, started().secure].map(act))

  /** Recreates both providers, because the package fixes at creation which claims it sends. */
  async function make(options: IdpOptions = {}): Promise<void> {
    const ports = running && { plain: portOf(running.plain.issuer), secure: portOf(running.secure.issuer) }
    if (running) await each((idp) => idp.close())
    const users = PEOPLE.map(toUser)
    running = {
      plain: await startIdp({ users, port: ports?.plain ?? 0, ...options }),
      secure: await startIdp({ users, port: ports?.secure ?? 0, tls, ...options }),
    }
  }

  return {
    version,
    get issuer() {
      return started().plain.issuer
    },
    get secure() {
      return { issuer: started().secure.issuer, ca: certificates.ca.cert, clientCertificate }
    },
    cannot: {
      secret_letters: 'it takes visible ASCII characters only in a secret',
      signed_es512: 'the fixture gives it no key on P-521',
      backchannel_all: 'it has no administration: a session ends in its own browser',
      backchannel_all_one_sid: 'it has no administration: a session ends in its own browser',
      introspection_disabled: 'a token of a disabled user stays valid until it expires',
      introspection_ended: 'it has no administration: a session ends in its own browser',
    },
    ownPage: new Set(['wrong_client_id', 'wrong_redirect_uri']),
    groupName: (name) => name,

    async start() {
      if (running) await each((idp) => idp.up())
      else await make()
    },
    async stop() {
      if (running) await each((idp) => idp.down())
    },
    async close() {
      if (running) await each((idp) => idp.close())
    },
    // Nothing to do: each registration recreates the provider.
    reset: async () => undefined,

    async register({ groups, claimsIn, renewal, ...client }: ClientRegistration) {
      await make({
        ...(claimsIn ? { claimsIn } : {}),
        rotateRefreshTokens: renewal?.rotates ?? false,
        ...(renewal?.lifeS === undefined ? {} : { refreshTokenLifeS: renewal.lifeS }),
        ...(groups === 'unasked' ? { scopes: { profile: [...PROFILE, 'groups'] } } : {}),
      })
      const { redirect_uris, post_logout_redirect_uris = [], ...more } = client
      const metadata = {
        ...more,
        ...(renewal ? { grant_types: ['authorization_code', 'refresh_token'] } : {}),
        redirect_uris: [...redirect_uris],
        post_logout_redirect_uris: [...post_logout_redirect_uris],
      } as Parameters<Idp['addClient']>[0]
      await started().secure.addClient(metadata)
      // Without TLS there are no client certificates, so the plain provider rejects such a client.
      if (!/tls_client_auth$/.test(client.token_endpoint_auth_method ?? '')) await started().plain.addClient(metadata)
      return {}
    },
    async setPerson(person) {
      await each((idp) => idp.setUser(toUser(person)))
    },
    async disable(person) {
      await each((idp) => idp.setUser({ ...toUser(person), password: `not-${person.password}` }))
    },
    acts: { delete: ({ username }) => each((idp) => idp.removeUser(username)) },
    async rotateKeys() {
      await each((idp) => idp.rotateKeys({ withdraw: true }))
    },

    signIn: (browser, page, { username, password }) => browser.signIn(page, username, password),
    asksWho: asksForPassword,
    async cancel(browser, page) {
      const [form] = page.forms
      if (!form) throw new Error(`no form at ${page.url}`)
      return browser.submit(form, {}, 'cancel')
    },
    async confirmLogout(browser, page) {
      const form = page.forms.find(({ buttons }) => buttons.some(({ name }) => name === 'logout'))
      return form ? browser.submit(form, {}, 'logout') : page
    },
    ownSessions: async () => undefined,
  }
}

const portOf = (issuer: string): number => Number(new URL(issuer).port)

function toUser(person: Person): IdpUser {
  return {
    username: person.username,
    password: person.password,
    sub: `sub-of-${person.username}`,
    claims: {
      name: fullName(person),
      preferred_username: person.username,
      email: person.email,
      email_verified: true,
      groups: person.groups,
    },
  }
}
