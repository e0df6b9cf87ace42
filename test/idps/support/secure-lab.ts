import type { Page } from '../../../fixtures/browser.ts'
import { ScriptedBrowser } from '../../../fixtures/browser.ts'
import { createClientFolder } from '../../support/client-keys.ts'
import { freePort, type LogLine, startHostProcess } from '../../support/host-process.ts'
import { whoAmI } from '../../support/sign-in-setup.ts'
import type { Bench } from '../matrix/run.ts'
import { introduce, type LabOptions, oidcObject } from './lab.ts'
import type { Person } from './people.ts'

export interface SecureLabOptions extends LabOptions {
  /** The client certificate of the host (PEM). */
  readonly certificate?: { readonly cert: string; readonly key: string }
}

/** A host in a separate process, because only that can be made to trust a private authority (NODE_EXTRA_CA_CERTS). */
export interface SecureLab {
  signIn(person: Person): ReturnType<typeof whoAmI>
  /** Returns the log line with the cause of a failed login. */
  failure(): LogLine | undefined
  /** Describes the last page and all complaints of the host, for the message of a failed assertion. */
  describe(): string
}

export async function startSecureLab({ idp, keep }: Bench, options: SecureLabOptions): Promise<SecureLab> {
  const { secure } = idp
  if (!secure) throw new Error('a provider without TLS must list this in `cannot`')
  const { certificate } = options
  const port = await freePort()
  const url = `http://127.0.0.1:${port}/`
  const registered = await introduce(idp, url, options)
  const folder = await createClientFolder()
  keep(folder.remove)
  const files = certificate && {
    tlsCertFile: await folder.write('cert.pem', certificate.cert),
    tlsKeyFile: await folder.write('key.pem', certificate.key),
  }
  const oidc = oidcObject(idp, registered, url, { ...options, oidc: { ...options.oidc, issuer: secure.issuer } })
  const domain = { authStrategies: { oidc }, ...(files ? { oidcCredentials: files } : {}) }
  const config = await folder.write(
    'config.json',
    JSON.stringify({ settings: { cert: '127.0.0.1' }, domains: { '': domain } }),
  )
  const authority = await folder.write('ca.pem', secure.ca)
  const host = await startHostProcess(config, port, { NODE_EXTRA_CA_CERTS: authority })
  keep(host.stop)
  let last: Page | undefined
  return {
    async signIn(person) {
      const browser = new ScriptedBrowser({ ca: secure.ca })
      keep(() => browser.close())
      last = await idp.signIn(browser, await browser.get(`${url}auth-oidc`), person)
      return whoAmI(browser, url)
    },
    failure: () => host.lines.findLast(({ event }) => event === 'login-failed'),
    describe: () =>
      [
        `ended at ${last?.url} (${last?.status}): ${last?.text.slice(0, 500)}`,
        ...host.lines.filter(({ level }) => level !== 'info').map((line) => JSON.stringify(line)),
      ].join('\n'),
  }
}
