import { setTimeout } from 'node:timers/promises'
import { ScriptedBrowser } from '../../fixtures/browser.ts'
import type { Party } from './login-party.ts'
import { beside, type Measurement, median, medians, untilSteady } from './measurement.ts'
import { type Program, startProgram } from './program.ts'

const MOST_WINDOWS = 8
/** Logins before the measurement. Until V8 has compiled the code, a login takes two to three times as long. */
const WARM_UP_LOGINS = 3000
/** At 100 browsers, each logs in three times. A single burst of 100 logins would give random results. */
const LOGINS_A_WINDOW = 300
const LONE_LOGINS = 2
const MOST_LONE_WINDOWS = 5
/** Interval between single logins. It is so long that data cached for a second does not help the next login. */
const LONE_EVERY_MS = 1_100
const PEER =
  'express-openid-connect (session in a cookie; verifies no signature of the ID token, remembers no answer, no account, no group)'

/** A relying party in its own process. Its provider is in another process. */
interface Side {
  readonly program: Program<typeof import('./login-party.ts')>
  readonly party: Party
}

/**
 * Measures complete logins (code flow with PKCE and nonce) by browsers that have a session at the IdP. A login is the
 * login address, the IdP, the callback and the first signed-in request. Both sides read the claims from the ID token.
 * The IdP has its own process, so CPU time is that of the relying party alone.
 *
 * By profile, the plugin takes 25 % of a login, `express-session` with its store 22 %, the HTTP of Node.js 18 %, and
 * `jose` 12 %, because it verifies the signature of the ID token. The peer spends 31 % in `jose`, because it encrypts
 * the session into the cookie. So it needs no store.
 */
export async function loginBench(): Promise<readonly Measurement[]> {
  return [...(await withSides(0, atOnceRows)), ...(await withSides(25, waitRows))]
}

async function withSides(
  latencyMs: number,
  measure: (product: Side, peer: Side) => Promise<readonly Measurement[]>,
): Promise<readonly Measurement[]> {
  const idp = await startProgram<typeof import('./login-idp.ts')>('login-idp.ts')
  const programs: { close(): Promise<void> }[] = [idp]
  try {
    const issuer = await idp.call('open', latencyMs)
    const side = async (kind: 'ours' | 'peer'): Promise<Side> => {
      const client = { client_id: kind, client_secret: `bench-secret-of-${kind}` }
      const program: Side['program'] = await startProgram('login-party.ts')
      programs.push(program)
      const party = await program.call(kind, issuer, client)
      await idp.call('addClient', client, party.callback)
      return { program, party }
    }
    return await measure(await side('ours'), await side('peer'))
  } finally {
    for (const program of programs) await program.close()
  }
}

async function atOnceRows(product: Side, peer: Side): Promise<readonly Measurement[]> {
  for (const { party } of [product, peer])
    await withBrowsers(party, 10, (people) => logIn(people, party, WARM_UP_LOGINS))
  const rows: Measurement[] = []
  for (const atOnce of [10, 1, 100]) {
    const run = ({ program, party }: Side) =>
      withBrowsers(party, atOnce, async (people) => {
        const usageBefore = program.cpuMicroseconds()
        const { seconds, logins } = await logIn(people, party, LOGINS_A_WINDOW)
        return { perSecond: logins / seconds, cpuMs: (program.cpuMicroseconds() - usageBefore) / 1000 / logins }
      })
    const turns = await untilSteady(MOST_WINDOWS, 'perSecond', { ours: () => run(product), peer: () => run(peer) })
    const name = atOnce === 10 ? 'login' : `login.${atOnce}`
    rows.push(
      beside(`${name}.cpu`, 'ms CPU', medians(turns, 'cpuMs'), PEER, 'less'),
      beside(name, 'logins/s', medians(turns, 'perSecond'), PEER),
    )
  }
  return rows
}

async function waitRows(product: Side, peer: Side): Promise<readonly Measurement[]> {
  const run = async ({ party }: Side) => {
    const waits: number[] = []
    for (let i = 0; i < LONE_LOGINS; i += 1) {
      await setTimeout(LONE_EVERY_MS)
      waits.push((await withBrowsers(party, 1, (people) => logIn(people, party, 1))).waitMs)
    }
    return { waitMs: median(waits) }
  }
  await run(product)
  await run(peer)
  const turns = await untilSteady(MOST_LONE_WINDOWS, 'waitMs', { ours: () => run(product), peer: () => run(peer) })
  return [beside('login.wait.25', 'ms', medians(turns, 'waitMs'), PEER, 'less')]
}

/** Calls `use` with browsers that have a session at the IdP, and closes them afterwards. */
async function withBrowsers<T>(
  { login }: Party,
  count: number,
  use: (people: readonly ScriptedBrowser[]) => Promise<T>,
): Promise<T> {
  const people = Array.from({ length: count }, () => new ScriptedBrowser())
  try {
    await Promise.all(people.map(async (browser) => browser.signIn(await browser.get(login), 'alice', 'alice-demo')))
    return await use(people)
  } finally {
    for (const browser of people) browser.close()
  }
}

/** @returns `waitMs`: the median duration of the callback, without the signed-in request after it */
async function logIn(
  people: readonly ScriptedBrowser[],
  { login, callback, me }: Party,
  wanted: number,
): Promise<{ seconds: number; logins: number; waitMs: number }> {
  const each = Math.ceil(wanted / people.length)
  const waits: number[] = []
  const start = performance.now()
  await Promise.all(
    people.map(async (browser) => {
      for (let i = 0; i < each; i += 1) waits.push(await loginOnce(browser, login, callback, me))
    }),
  )
  const seconds = (performance.now() - start) / 1000
  return { seconds, logins: each * people.length, waitMs: median(waits) }
}

/** Follows the redirects of one login. @returns the duration of the callback, in milliseconds */
async function loginOnce(browser: ScriptedBrowser, login: string, callback: string, me: string): Promise<number> {
  let address = login
  for (;;) {
    const begun = performance.now()
    const { url, status, headers } = await browser.step(address)
    const waited = performance.now() - begun
    if (headers.location === undefined) throw new Error(`no redirect at ${new URL(address).pathname}: ${status}`)
    address = new URL(headers.location, address).href
    if (!url.startsWith(callback)) continue
    const proof = await browser.step(me)
    if (proof.status !== 200) throw new Error(`not signed in: ${proof.status}`)
    return waited
  }
}
