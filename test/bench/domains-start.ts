import { existsSync } from 'node:fs'
import express from 'express'
import { recordsInMemory } from '../../fixtures/host/accounts-memory.ts'

const PLUGIN = new URL('../../dist/plugin/index.js', import.meta.url)

/** Loads the built files. Loading the sources through `tsx` would double the measured time. */
export async function load(): Promise<typeof import('../../plugin/index.ts')> {
  if (!existsSync(PLUGIN)) throw new Error('There is no dist/: run `npm run build` first.')
  return (await import(PLUGIN.href)) as typeof import('../../plugin/index.ts')
}

/** @returns the cost from the call of `registerOidc` until the last IdP is discovered */
export async function start(issuer: string, domains: number) {
  const { expressSessions, registerOidc } = await load()
  const { accounts, groups } = recordsInMemory()
  const host = {
    accounts,
    groups,
    sessions: expressSessions(),
    loginPage: { showFailure: () => undefined },
    authLog: () => undefined,
  }
  const config = configOf(issuer, domains)
  let missing = domains
  const app = express()
  const usageBefore = { ...process.memoryUsage(), ...process.cpuUsage() }
  await new Promise<void>((resolve) => {
    const log = {
      info: (event: string) => {
        if (event !== 'discovered') return
        missing -= 1
        if (missing === 0) resolve()
      },
      warn: () => undefined,
      error: () => undefined,
    }
    void registerOidc(app, { config, host, log })
  })
  const { user, system } = process.cpuUsage(usageBefore)
  return { cpuMs: (user + system) / 1000, megabytes: (process.memoryUsage().rss - usageBefore.rss) / 1e6 }
}

function configOf(issuer: string, domains: number): object {
  const client = { client_id: 'bench', client_secret: 'a secret of the bench' }
  const domain = (index: number) => ({
    ...(index === 0 ? {} : { dns: `d${index}.test` }),
    authStrategies: { oidc: { issuer, newAccounts: true, client } },
  })
  return {
    settings: { cert: 'main.test' },
    domains: Object.fromEntries(
      Array.from({ length: domains }, (_, index) => [index === 0 ? '' : `d${index}`, domain(index)]),
    ),
  }
}
