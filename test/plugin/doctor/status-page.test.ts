import { createHash } from 'node:crypto'
import { expect } from 'chai'
import fc from 'fast-check'
import type { Verdict } from '../../../plugin/doctor/live/verdict.ts'
import { POLICY } from '../../../plugin/doctor/page-look.ts'
import { type StatusPage, statusPage } from '../../../plugin/doctor/status-page.ts'
import type { DomainStatus } from '../../../plugin/mount/status/domain-status.ts'

const STATUS: DomainStatus = {
  domainKey: '',
  configured: true,
  problems: [],
  warnings: [],
  issuer: 'https://idp.example',
  discovery: { discoveredSince: 1_000, failure: null },
  keySetAgeMs: 61_000,
  lastLogin: null,
  refusals: [],
  loginWarnings: [],
  uncheckedSessions: 0,
  groupRights: null,
  addresses: {
    redirect: 'https://mesh.example/auth-oidc-callback',
    postLogout: null,
    backchannelLogout: 'https://mesh.example/auth-oidc-backchannel-logout',
    frontchannelLogout: 'https://mesh.example/auth-oidc-frontchannel-logout',
    keySet: null,
  },
}

const page = (changes: Partial<DomainStatus> = {}, more: Partial<StatusPage> = {}) =>
  statusPage({
    status: { ...STATUS, ...changes },
    notes: [],
    check: { kind: 'never' },
    token: 'a-token',
    look: null,
    moveHref: '?page=move',
    now: 100_000,
    ...more,
  })

describe('status page', () => {
  // Shows: plugin 9.40.
  it('the status page lists configuration errors and warnings with remedies', () => {
    const problems = [{ path: 'domains[""].x', reason: 'is missing', remedy: 'Write it.' }]
    const warnings = [{ code: 'misplaced', path: 'settings.y', reason: 'is ignored', remedy: 'Move it.' }] as const
    const markup = page({ configured: false, problems, warnings })
    expect(markup).to.contain('error</span><code>domains[&#34;&#34;].x</code> is missing. Write it.')
    expect(markup).to.contain('warning</span><code>settings.y</code> is ignored. Move it.')
    expect(page()).not.to.contain('<h2>Configuration</h2>')
  })

  it('the status page escapes markup in texts from the configuration, IdP and users', () => {
    const plain = page({}, { check: { kind: 'done', endedAt: 1, verdicts: [] } })
    const tags = (markup: string) => markup.match(/<[^>]*>/g)?.length
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom('<', '>', '"', "'", '&', 'a', ' ', '/', '=') }), (text) => {
        const safe = (value: string) => {
          const refusal = { time: 1, times: 2, event: value, code: 'internal', remedy: value, account: value } as const
          const changes: Partial<DomainStatus> = {
            domainKey: `d${value}`,
            issuer: value,
            refusals: [refusal],
            problems: [{ path: value, reason: value, remedy: value }],
            warnings: [{ code: 'misplaced', path: value, reason: value, remedy: value }],
            loginWarnings: [{ time: 1, times: 2, event: value, message: value, account: value, otherAccount: value }],
            groupRights: [{ group: value, rights: ['recordings'] }],
            discovery: { discoveredSince: null, failure: { since: 5, causeCode: value, remedy: value } },
          }
          const verdicts: readonly Verdict[] = [{ question: 'discovery', verdict: 'fail', text: value }]
          return page(changes, { check: { kind: 'done', endedAt: 1, verdicts }, token: value })
        }
        expect(tags(safe(text))).to.equal(tags(safe('harmless')))
      }),
    )
    expect(plain).to.include('No question could be asked')
  })

  it('the status page shows since when discovery has failed, and the remedy', () => {
    const failure = { since: Date.UTC(2026, 0, 2, 3, 4, 5), causeCode: 'ECONNREFUSED', remedy: 'Check `issuer`.' }
    const markup = page({ discovery: { discoveredSince: null, failure } })
    expect(markup).to.match(
      /not discovered\..*Fails since <time[^>]*>2026-01-02 03:04:05 UTC<\/time> <code>ECONNREFUSED<\/code>/,
    )
    expect(markup).to.include('Check <code>issuer</code>.')
  })

  it('the status page lists refused logins with age, count, account and remedy', () => {
    const refusal = { time: 40_000, times: 3, event: 'login-failed', remedy: 'Unlock it.', account: 'eve' } as const
    const markup = page({ refusals: [{ ...refusal, code: 'account_locked' }] })
    for (const part of ['(60 s ago, 3 times)', '<code>account_locked</code>', 'account <b>eve</b>', 'Unlock it.'])
      expect(markup).to.include(part)
    expect(markup).to.match(/Some texts name a field.*settings\.authLog/)
    expect(page()).to.match(/Last refusals<\/h2><p>None\.<\/p>/)
  })

  it('the status page lists warnings about logins with age, count and accounts', () => {
    const warning = {
      time: 40_000,
      times: 3,
      event: 'account-under-other-id',
      account: '~oidc:eve',
      otherAccount: '~oidc:7',
    } as const
    const markup = page({ loginWarnings: [{ ...warning, message: 'Write `sub`.' }] })
    expect(markup).to.match(/Warnings about logins<\/h2>.*60 s ago, 3 times.*<code>account-under-other-id<\/code>/)
    expect(markup).to.include('account <b>~oidc:eve</b>, other account <b>~oidc:7</b><br>Write <code>sub</code>.')
    expect(page()).not.to.include('Warnings about logins')
  })

  it('the status page shows the rights that each group grants, and notes on the server', () => {
    expect(page({}, { notes: ['This is MeshCentral <9>.'] })).to.include('This is MeshCentral &#60;9&#62;.')
    const groupRights = [
      { group: 'help<desk', rights: ['manageusers', 'recordings'] },
      { group: 'guests', rights: [] },
    ] as const
    expect(page({ groupRights })).to.include('<b>help&#60;desk</b>: manageusers, recordings<br><b>guests</b>: none')
  })

  it('the status page offers no live check if the configuration has errors', () => {
    const markup = page({ configured: false, issuer: null, discovery: null, addresses: null })
    expect(markup).to.include('The configuration has errors')
    expect(markup).not.to.match(/<form|<input/)
  })

  it('the status page reloads itself only while a live check runs', () => {
    expect(page({}, { check: { kind: 'running', since: 1 } })).to.match(/<html[^>]* data-reload>.*<button disabled>/s)
    expect(page()).not.to.include('data-reload')
  })

  it('the status page has the day or night colors that the server requests', () => {
    expect(page({}, { look: 'day' })).to.include('<html lang="en" data-look="day">')
    expect(page()).to.include('<html lang="en">')
  })

  it('the status page allows the browser to load only its own script and style', () => {
    const markup = page()
    for (const [name, text = ''] of [
      ['script', /<script>([^<]*)<\/script>/.exec(markup)?.[1]],
      ['style', /<style>([^<]*)<\/style>/.exec(markup)?.[1]],
    ] as const) {
      expect(text.length).to.be.above(500)
      expect(POLICY).to.include(`${name}-src 'sha256-${createHash('sha256').update(text).digest('base64')}';`)
    }
    expect(markup).not.to.match(/ style=| on\w+=/)
  })
})
