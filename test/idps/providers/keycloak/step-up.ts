import { createHmac } from 'node:crypto'
import { expect } from 'chai'
import { describeVisit, expectNoComplaint } from '../../matrix/expectations.ts'
import type { Bench } from '../../matrix/run.ts'
import { formWith } from '../../support/pages.ts'
import { createPerson } from '../../support/people.ts'
import type { Keycloak } from '../keycloak.ts'
import type { Admin } from './admin.ts'
import { REALM, toUser } from './realm.ts'

const FLOW = 'step-up'
const OTP_SECRET = 'a-secret-of-an-authenticator'

const AUTHENTICATOR = {
  type: 'otp',
  secretData: JSON.stringify({ value: OTP_SECRET }),
  credentialData: JSON.stringify({ subType: 'totp', digits: 6, counter: 0, period: 30, algorithm: 'HmacSHA1' }),
}

/** A user with an authenticator in addition to the password. */
const ERIN = createPerson('Erin', 'Eklund')

/** Defines tests of Keycloak with levels of authentication: a password is silver, a second factor gold. */
export function describeStepUp(bench: () => Bench<Keycloak>): void {
  it('a login requires a second factor if required_acr names a level that needs one', async () => {
    const { idp, lab: start } = bench()
    await makeFlow(idp.admin)
    const user = toUser(ERIN)
    await idp.admin.post(`/${REALM}/users`, { ...user, credentials: [...user.credentials, AUTHENTICATOR] })
    const lab = await start({ custom: { required_acr: 'gold' } })
    const browser = lab.browser()
    const otpPage = await idp.signIn(browser, await browser.get(`${lab.host.url}auth-oidc`), ERIN)
    const form = formWith(otpPage, 'otp')
    if (!form) throw new Error(`no form at ${otpPage.url}: ${otpPage.text}`)
    expect(await lab.whoIs(browser)).to.include({ status: 401 })
    const page = await browser.submit(form, { otp: codeOf(OTP_SECRET, Date.now()) })
    expect(await lab.whoIs(browser), describeVisit(lab, page)).to.include({ status: 200, email: ERIN.email })
    expectNoComplaint(lab, page)
  })
}

interface Execution {
  readonly id: string
  readonly displayName: string
  readonly providerId?: string
  readonly level: number
  readonly requirement: string
}

async function makeFlow(admin: Admin): Promise<void> {
  const path = `/${REALM}/authentication`
  await admin.post(`${path}/flows`, { alias: FLOW, providerId: 'basic-flow', topLevel: true, builtIn: false })
  const addFlow = (inside: string, alias: string) =>
    admin.post(`${path}/flows/${inside}/executions/flow`, { alias, type: 'basic-flow', provider: '', description: '' })
  const add = (inside: string, provider: string) =>
    admin.post(`${path}/flows/${inside}/executions/execution`, { provider })
  await add(FLOW, 'auth-cookie')
  await addFlow(FLOW, 'levels')
  for (const [level, authenticatorOf] of [
    ['level-1', 'auth-username-password-form'],
    ['level-2', 'auth-otp-form'],
  ] as const) {
    await addFlow('levels', level)
    await add(level, 'conditional-level-of-authentication')
    await add(level, authenticatorOf)
  }
  const executions = await admin.get<Execution[]>(`${path}/flows/${FLOW}/executions`)
  let level = 0
  for (const execution of executions) {
    const isCondition = execution.providerId === 'conditional-level-of-authentication'
    const requirement =
      execution.level === 0 ? 'ALTERNATIVE' : execution.displayName.startsWith('level-') ? 'CONDITIONAL' : 'REQUIRED'
    await admin.put(`${path}/flows/${FLOW}/executions`, { ...execution, requirement })
    if (!isCondition) continue
    level += 1
    const config = { 'loa-condition-level': String(level), 'loa-max-age': '36000' }
    await admin.post(`${path}/executions/${execution.id}/config`, { alias: `level ${level}`, config })
  }
  const realm = await admin.get<{ attributes: Record<string, string> }>(`/${REALM}`)
  const attributes = { ...realm.attributes, 'acr.loa.map': JSON.stringify({ silver: '1', gold: '2' }) }
  await admin.put(`/${REALM}`, { ...realm, browserFlow: FLOW, attributes })
}

/** Returns a one-time password. Source: RFC 6238, section 4, with the defaults of RFC 4226. */
function codeOf(secret: string, now: number): string {
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(Math.floor(now / 30_000)))
  const digest = createHmac('sha1', secret).update(counter).digest()
  const offset = (digest.at(-1) ?? 0) & 0xf
  return String((digest.readUInt32BE(offset) & 0x7f_ff_ff_ff) % 1_000_000).padStart(6, '0')
}
