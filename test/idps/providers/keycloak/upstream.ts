import { expect } from 'chai'
import { describeVisit, expectNoComplaint, signOutFully } from '../../matrix/expectations.ts'
import type { Bench } from '../../matrix/run.ts'
import { createPerson } from '../../support/people.ts'
import type { Keycloak } from '../keycloak.ts'
import { REALM, sessionsOf, toUser } from './realm.ts'

/** A user that exists only at the upstream provider. */
const DAVE = createPerson('Dave', 'Doe')
const UPSTREAM = 'upstream'
const BROKER_CLIENT = { clientId: 'the-realm-in-front', secret: 'secret-of-the-realm-in-front' }

/**
 * Defines tests of Keycloak as a broker: it redirects users to an upstream provider, here another realm, and must sign
 * them out there too.
 */
export function describeUpstream(bench: () => Bench<Keycloak>): void {
  it('logout through Keycloak also ends the session at the IdP behind Keycloak', async () => {
    const { idp, keep } = bench()
    keep(() => idp.admin.delete(`/${UPSTREAM}`))
    await joinRealms(idp)
    const lab = await bench().lab()
    const browser = lab.browser()
    const towardsUpstream = async () => {
      const page = await browser.get(`${lab.host.url}auth-oidc`)
      const link = page.links.find(({ href }) => href.includes(`/broker/${UPSTREAM}/`))
      return link ? browser.get(link.href) : page
    }
    const page = await idp.signIn(browser, await towardsUpstream(), DAVE)
    expect(await lab.whoIs(browser), describeVisit(lab, page)).to.include({ status: 200, email: DAVE.email })
    const upstreamSessions = async () => (await sessionsOf(idp.admin, DAVE, UPSTREAM)).length
    expect(await upstreamSessions()).to.equal(1)

    const last = await signOutFully(lab, browser)
    expect(await upstreamSessions()).to.equal(0)
    expect(await idp.asksWho(await towardsUpstream(), browser)).to.equal(true)
    const events = (await idp.events?.()) ?? []
    expect(events.filter((event) => /LOGOUT/.test(event))).to.deep.equal(['LOGOUT'])
    expectNoComplaint(lab, last)
  })
}

async function joinRealms({ admin, issuerOf }: Keycloak): Promise<void> {
  const endpoint = `${issuerOf(REALM)}/broker/${UPSTREAM}/endpoint`
  const upstream = `${issuerOf(UPSTREAM)}/protocol/openid-connect`
  await admin.post('', {
    realm: UPSTREAM,
    enabled: true,
    users: [toUser(DAVE)],
    clients: [
      {
        ...BROKER_CLIENT,
        redirectUris: [endpoint],
        attributes: { 'post.logout.redirect.uris': `${endpoint}/logout_response` },
      },
    ],
  })
  await admin.post(`/${REALM}/identity-provider/instances`, {
    alias: UPSTREAM,
    providerId: 'oidc',
    enabled: true,
    trustEmail: true,
    config: {
      clientId: BROKER_CLIENT.clientId,
      clientSecret: BROKER_CLIENT.secret,
      clientAuthMethod: 'client_secret_post',
      issuer: issuerOf(UPSTREAM),
      authorizationUrl: `${upstream}/auth`,
      tokenUrl: `${upstream}/token`,
      logoutUrl: `${upstream}/logout`,
      jwksUrl: `${upstream}/certs`,
      useJwksUrl: 'true',
      validateSignature: 'true',
      defaultScope: 'openid profile email',
    },
  })
}
