import { expect } from 'chai'
import type { Endpoint, Fault } from '../../../fixtures/idp/faults.ts'
import { type Idp, type IdpOptions, startIdp } from '../../../fixtures/idp/server.ts'
import { checkToTheEnd } from '../../../plugin/doctor/check.ts'
import type { LiveOptions } from '../../../plugin/doctor/check-live.ts'
import { makeKey } from '../../support/client-keys.ts'
import { CLIENT } from '../../support/sign-in-setup.ts'

export const REDIRECT = 'http://127.0.0.1:9/auth-oidc-callback'
/** The client's key for `private_key_jwt`. */
export const KEY = makeKey('P-256', { kid: 'one', alg: 'ES256' })
export type Members = Readonly<Record<string, unknown>>

export interface Situation {
  /** Changes to the IdP's registration of the client. */
  readonly registered?: Members
  readonly fault?: readonly [Endpoint, Fault, times?: number]
  readonly oidc?: Members
  readonly client?: Members
  readonly live?: LiveOptions
}

/** Identity providers for live checks, each with the client of the tests. Close it after each test. */
export class LiveCheckSetup {
  readonly #idps: Idp[] = []

  async start(registered: Members = {}, options: IdpOptions = {}): Promise<Idp> {
    const idp = await startIdp(options)
    this.#idps.push(idp)
    const back = ['https://127.0.0.1:9/login']
    await idp.addClient({ ...CLIENT, redirect_uris: [REDIRECT], post_logout_redirect_uris: back, ...registered })
    return idp
  }

  /** Runs the command in this process. Returns the trimmed lines of its live part. */
  async run(idp: Idp, { oidc = {}, client = {}, live }: Situation = {}, ...args: string[]) {
    const strategy = { issuer: idp.issuer, ...oidc, client: { ...CLIENT, redirect_uri: REDIRECT, ...client } }
    const byKey = client.token_endpoint_auth_method === 'private_key_jwt'
    const domain = byKey ? { oidcCredentials: { jwksFile: 'keys.json' } } : {}
    const text = JSON.stringify({
      settings: { cert: '127.0.0.1', port: 9 },
      domains: { '': { authStrategies: { oidc: strategy }, ...domain } },
    })
    let output = ''
    const write = (part: string) => {
      output += part
    }
    const terminal = {
      list: () => [],
      read: (file: string) => (file === 'keys.json' ? JSON.stringify({ keys: [KEY.private] }) : text),
      out: write,
      err: write,
      create: () => undefined,
    }
    const code = await checkToTheEnd(['config.json', '--live', ...args], terminal, live)
    expect(output).not.to.contain(CLIENT.client_secret)
    const [, below = ''] = output.split('live:\n')
    const lines = below.split('\n').flatMap((line) => (line === '' ? [] : [line.trim()]))
    const lineOf = (question: string) => lines.filter((line) => line.split(': ')[1] === question).join('\n')
    return { code, output, lines, lineOf }
  }

  async close(): Promise<void> {
    for (const idp of this.#idps.splice(0)) await idp.close()
  }
}
