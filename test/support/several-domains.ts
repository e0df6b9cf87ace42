import { ScriptedBrowser } from '../../fixtures/browser.ts'
import { startHost } from '../../fixtures/host/server.ts'
import type { AuthLogEntry } from '../../plugin/index.ts'
import { makeServerFiles } from './server-files.ts'

export type SeveralDomains = Awaited<ReturnType<typeof startSeveralDomains>>

/**
 * A reference host over TLS under several names, so that addresses need not be configured but follow from the names.
 *
 * @param names the first one is that of the default domain
 * @param domains their members, by key
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
    /** Where browsers find a domain, by its host name, with a slash at the end. */
    urlOf: (name: string) => `https://${name}:${host.port}/`,
    /** Knows all names, and trusts the host's certificate. */
    browser: () => new ScriptedBrowser({ ca, hosts }),
    close: async () => {
      await host.close()
      await remove()
    },
  }
}
