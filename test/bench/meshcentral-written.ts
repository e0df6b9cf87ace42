import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import type { ScriptedBrowser } from '../../fixtures/browser.ts'
import { type ControlSocket, openPage } from '../meshcentral/support/control-socket.ts'
import { type Members, type MeshSetup, setUpMesh } from '../meshcentral/support/mesh-setup.ts'
import { until } from '../support/until.ts'
import { alone, beside, type Measurement } from './measurement.ts'
import { allowRenewals, visitorOf } from './meshcentral-visitor.ts'

const PEOPLE = 100
/** Number of page loads per hour, equal to the default number of session renewals. */
const TIMES_AN_HOUR = 12
/**
 * Number of renewals of each session that the bench waits for. They follow each other as fast as the IdP answers,
 * instead of every few minutes.
 */
const RENEWALS = 4
const OFTEN = { plugins: { enabled: true, list: ['meshcompanion'], meshcompanion: { sessionCheckMinutes: 0.05 } } }
const SETTLED_MS = 500

/**
 * Measures the bytes that a user adds to MeshCentral's database, whose files only grow. A user with an account signs in
 * and loads the page with its WebSocket. Then the session is renewed by an IdP that replaces the refresh token each
 * time.
 */
export async function meshWrittenBench(): Promise<readonly Measurement[]> {
  const product = await writtenBy('ours')
  const peer = await writtenBy('built-in')
  const row = (name: string, figureOf: (written: Written) => number) =>
    beside(`written.${name}`, 'KB', { ours: figureOf(product) / 1e3, peer: figureOf(peer) / 1e3 }, 'built-in', 'less')
  return [
    row('login', ({ login }) => login),
    alone('written.renewal', 'KB', product.renewal / 1e3),
    row(`hour.${PEOPLE}`, ({ login, page, renewal }) => PEOPLE * (login + TIMES_AN_HOUR * (page + renewal))),
  ]
}

type Written = Awaited<ReturnType<typeof writtenBy>>

/** @returns the bytes that each action adds */
async function writtenBy(strategy: 'ours' | 'built-in') {
  const settings: Members = { maxInvalidLogin: false }
  const setup = await setUpMesh({ strategy, settings, idp: { rotateRefreshTokens: true } })
  try {
    await allowRenewals(setup)
    const persons = Array.from({ length: PEOPLE }, (_, n) => setup.person({ groups: ['everybody', `group ${n % 10}`] }))
    // The first login creates the accounts. It is not measured, because it happens only once.
    for (const person of persons) await visitorOf(setup, person)
    const earlier = await settledBytes(setup)
    const browsers: ScriptedBrowser[] = []
    for (const person of persons) browsers.push(await visitorOf(setup, person))
    const signedInBytes = await settledBytes(setup)
    const pages: ControlSocket[] = []
    const openPages = async () => {
      for (const browser of browsers) pages.push(await openPage(setup, browser))
    }
    await openPages()
    const openedBytes = await settledBytes(setup)
    const each = (bytes: number) => bytes / PEOPLE
    const written = { login: each(signedInBytes - earlier), page: each(openedBytes - signedInBytes), renewal: 0 }
    if (strategy === 'built-in') return written
    await setup.restart({ settings: { ...settings, ...OFTEN } })
    await allowRenewals(setup)
    await openPages()
    const [renewedAlready, fromBytes] = [setup.idp.requests('token'), await bytesOf(setup)]
    const renewed = await until('the renewals', () => {
      const count = setup.idp.requests('token') - renewedAlready
      return count >= RENEWALS * PEOPLE && count
    })
    const renewal = ((await settledBytes(setup)) - fromBytes) / renewed
    return { ...written, renewal }
  } finally {
    await setup.close()
  }
}

/** Returns the size of the database once it no longer changes. */
async function settledBytes(setup: MeshSetup): Promise<number> {
  for (let earlier = await bytesOf(setup); ; ) {
    await setTimeout(SETTLED_MS)
    const now = await bytesOf(setup)
    if (now === earlier) return now
    earlier = now
  }
}

async function bytesOf({ data }: MeshSetup): Promise<number> {
  const names = (await readdir(data.path)).filter((name) => name.endsWith('.db'))
  const sizes = await Promise.all(names.map(async (name) => (await stat(join(data.path, name))).size))
  return sizes.reduce((sum, size) => sum + size, 0)
}
