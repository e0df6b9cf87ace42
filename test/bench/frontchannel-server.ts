import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import express, { type Express } from 'express'
import session, { MemoryStore, type SessionData } from 'express-session'
import { recordsInMemory } from '../../fixtures/host/accounts-memory.ts'
import { load } from './domains-start.ts'

let url = ''
let issuerName = ''
let created = 0

/** A session cookie with a wrong signature, so that each request is one of a stranger. */
const COOKIE = 'connect.sid=s%3Amade-up.signature'

/**
 * Starts a server with this many sessions in its store, each with another sid. Without a number, it starts a server
 * without the plugin.
 */
export async function start(issuer: string, sessions: number | null): Promise<void> {
  const app = express()
  const store = new MemoryStore()
  app.use(session({ secret: 'of the bench', store, resave: false, saveUninitialized: false }))
  if (sessions !== null) {
    fill(store, issuer, sessions)
    await addPlugin(app, issuer)
  }
  app.use((_req, res) => void res.status(404).end())
  const server = createServer(app).listen(0, '127.0.0.1')
  await once(server, 'listening')
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  issuerName = issuer
}

function fill(store: MemoryStore, issuer: string, sessions: number): void {
  for (let count = 0; count < sessions; count += 1) {
    const id = `session-${count}`
    const cookie = { originalMaxAge: null, path: '/', httpOnly: true }
    const person = { domainKey: '', userId: `~oidc:${count}`, issuer, subject: `${count}`, sid: `sid-${count}` }
    const oidcSignIn = { ...person, startedAt: Date.now(), idToken: null, tokens: null, id }
    store.set(id, { cookie, oidcSignIn } as unknown as SessionData)
  }
}

async function addPlugin(app: Express, issuer: string): Promise<void> {
  const { expressSessions, registerOidc } = await load()
  const { accounts, groups } = recordsInMemory()
  const quiet = () => undefined
  const client = { client_id: 'bench', client_secret: 'a secret of the bench' }
  const oidc = await registerOidc(app, {
    config: {
      settings: { cert: 'main.test' },
      domains: { '': { authStrategies: { oidc: { issuer, newAccounts: true, client } } } },
    },
    host: {
      accounts,
      groups,
      sessions: expressSessions(),
      loginPage: { showFailure: quiet },
      authLog: quiet,
    },
    log: { info: quiet, warn: quiet, error: quiet },
  })
  while (oidc.status()[0]?.discovery?.discoveredSince == null) await new Promise((resolve) => setTimeout(resolve, 10))
}

/** @returns CPU time of a call in microseconds, including that of the caller */
export function callAsStranger(calls: number): Promise<number> {
  return cpuOf(calls, async () => {
    created += 1
    const query = new URLSearchParams({ iss: issuerName, sid: `made up ${created}` })
    const answer = await fetch(`${url}/auth-oidc-frontchannel-logout?${query}`)
    if (answer.status !== 200) throw new Error(`status ${answer.status}`)
    await answer.text()
  })
}

/** @returns CPU time of a request for `path` in microseconds, including that of the caller */
export function askAsStranger(calls: number, path: string): Promise<number> {
  return cpuOf(calls, async () => {
    const answer = await fetch(`${url}/x/${path}`, { headers: { cookie: COOKIE } })
    if (answer.status !== 404) throw new Error(`status ${answer.status}`)
    await answer.text()
  })
}

async function cpuOf(calls: number, ask: () => Promise<void>): Promise<number> {
  const usageBefore = process.cpuUsage()
  for (let call = 0; call < calls; call += 1) await ask()
  const { user, system } = process.cpuUsage(usageBefore)
  return (user + system) / calls
}
