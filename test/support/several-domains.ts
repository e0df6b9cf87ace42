import { ScriptedBrowser } from '../../fixtures/browser.ts'
import { startHost } from '../../fixtures/host/server.ts'
import type { AuthLogEntry } from '../../plugin/index.ts'
import { makeServerFiles } from './server-files.ts'

export type SeveralDomains = Awaited<ReturnType<typeof startSeveralDomains>>

/**
 * Starts a reference host with TLS and several host names. The host derives its addresses from the names, so the
 * domains need not configure them.
 *
 * @param names host names; the first one belongs to the default domain
 * @param domains the members of each domain, by its key
 */
export async function startSeveralDomains(
  names: readonly [string, ...string[]],
  domains: Readonly<Record<string, object>>,
) {
  const { ca, certFile, keyFile, remove } = await makeServerFiles('several-domains', names)
  const authLog: AuthLogEntry[] = []
  const host = await startHost({
    config: { settings: { cert: names[0], port: 0, certFile, keyFile }, domains },
    authLog: (entry) => authLog.push(entry),
    output: { write: () => undefined },
  })
  const hosts = Object.fromEntries(names.map((name) => [name, '127.0.0.1']))
  return {
    host,
    authLog,
    /** Returns the address of a domain by its host name, with a slash at the end. */
    urlOf: (name: string) => `https://${name}:${host.port}/`,
    /** Creates a browser that knows all names and trusts the host's certificate. */
    browser: () => new ScriptedBrowser({ ca, hosts }),
    close: async () => {
      await host.close()
      await remove()
    },
  }
}
