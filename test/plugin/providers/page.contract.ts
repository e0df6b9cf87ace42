import { expect } from 'chai'
import type { DocumentedProvider } from '../../../fixtures/idp/documented/documented-provider.ts'
import { type DocumentedOptions, documentedSetups, SERVER } from '../../support/documented-setup.ts'

/** A mistake in the page's configuration, and the line of the live check that it causes. */
export interface MistakeCase {
  readonly title: string
  readonly oidc: NonNullable<DocumentedOptions['oidc']>
  readonly line: RegExp
}

/** How a sign-out ends at a provider without an end-session endpoint. */
export interface SignOutCase {
  /** Condition and outcome, as the title of the test. */
  readonly title: string
  /** The page on which the browser stays, without a query. */
  readonly landing: string
  /** Whether the next login must enter the password again. */
  readonly asksAgain: boolean
}

const COMPLETE: SignOutCase = {
  title: 'logout ends the session at the provider and returns to the login page',
  landing: `${SERVER}login`,
  asksAgain: true,
}

export interface PageCase {
  /** Name of the page's file among the pages about providers. */
  readonly page: string
  readonly provider: DocumentedProvider
  /** The provider's name in the output of `--live`. */
  readonly knownAs: string
  /** Name of the account of alice, if the provider does not send her full name. Default: `Alice Example`. */
  readonly accountName?: string
  /** How a sign-out ends. Default: it ends the session at the provider and returns to the login page. */
  readonly signOut?: SignOutCase
  /** The usual mistakes that the live check names, in the order of the page. */
  readonly mistakes: readonly MistakeCase[]
}

/**
 * Declares the tests that each page about a documented provider must pass with its own configuration, unchanged. Call
 * inside a `describe`.
 */
export function itFollowsItsPage({ page, provider, knownAs, accountName, signOut, mistakes }: PageCase): void {
  const { title: signOutTitle, landing: signOutLanding, asksAgain } = signOut ?? COMPLETE
  const start = documentedSetups(page, provider)

  // Shows: plugin 2.12.
  it(`the documented settings admit only group members at ${knownAs}`, async () => {
    const { signIn } = await start()
    const alice = await signIn('alice')
    expect(alice.me, JSON.stringify(alice.failure)).to.include({ status: 200, siteAdmin: true })
    expect(alice.me.name).to.equal(accountName ?? 'Alice Example')
    expect(alice.me.email).to.equal('alice@example.test')
    expect((await signIn('bob')).me).to.include({ status: 200, siteAdmin: false })
    const carol = await signIn('carol')
    expect(carol.me.status).to.equal(401)
    expect(carol.failure).to.include({ code: 'not_in_required_group' })
  })

  // Shows: plugin 2.12.
  it(signOutTitle, async () => {
    const setup = await start()
    const { person } = await setup.signIn('bob')
    const landing = await setup.signOut(person)
    expect(landing.url.split('?')[0], landing.text).to.equal(signOutLanding)
    expect(setup.lines('logout-incomplete')).to.deep.equal([])
    const next = await person.get(`${SERVER}auth-oidc`)
    const asks = next.forms.some(({ fields }) => fields.some(([name]) => name === 'password'))
    expect(asks).to.equal(asksAgain)
  })

  // Shows: plugin 9.49.
  it(`--live passes with the documented settings, and recognizes ${knownAs}`, async () => {
    const { checkLive } = await start()
    const { code, lines } = await checkLive()
    expect(lines).to.include(`ok: provider: ${knownAs}, without any of its usual mistakes`)
    expect(lines.filter((line) => line.startsWith('fail'))).to.deep.equal([])
    expect(code).to.equal(0)
  })

  for (const { title, oidc, line } of mistakes) {
    // Shows: plugin 9.49.
    it(`--live reports a configuration mistake for ${knownAs}: ${title}`, async () => {
      const { checkLive } = await start()
      const { lines } = await checkLive(oidc)
      const providerLines = lines.filter((candidate) => candidate.split(': ')[1] === 'provider')
      expect(providerLines.length, lines.join('\n')).to.equal(1)
      expect(providerLines[0]).to.match(line).and.contain(`: provider: ${knownAs}: `)
    })
  }
}

/** Returns a change of members of the `groups` object. */
export const withGroups =
  (change: Readonly<Record<string, unknown>>): MistakeCase['oidc'] =>
  ({ groups, ...oidc }) => ({ ...oidc, groups: { ...(groups as object), ...change } })

/**
 * Declares that a refusal by UserInfo changes nothing about who is admitted. Only for providers that put everything
 * into the ID token. Call inside a `describe`.
 *
 * @param oidc changes the page's configuration so that the plugin asks UserInfo
 */
export function itNeedsNoUserInfo({ page, provider }: PageCase, oidc?: MistakeCase['oidc']): void {
  const start = documentedSetups(page, provider)

  // Shows: plugin 10.15.
  it('the documented settings admit only group members even if UserInfo answers 401', async () => {
    const { idp, signIn } = await start(oidc ? { oidc } : {})
    idp.faults.set('userinfo', { kind: 'answer', status: 401 })
    expect((await signIn('alice')).me).to.include({ status: 200, siteAdmin: true, name: 'Alice Example' })
    expect((await signIn('bob')).me).to.include({ status: 200, siteAdmin: false })
    const { failure } = await signIn('carol')
    expect(failure?.code).to.be.oneOf(['not_in_required_group', 'memberships_unknown'])
  })
}
