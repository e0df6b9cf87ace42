import { type RunningHost, startHost } from '../../../fixtures/host/server.ts'
import type { Idp } from '../../../fixtures/idp/server.ts'
import type { AuthLogEntry } from '../../../plugin/index.ts'

const CLIENT = { client_id: 'host', client_secret: 'a-client-secret-of-the-reference-host' }

/** The reference host on plain HTTP. @param url where browsers find it, through the proxy */
export async function startReferenceHost(
  idp: Idp,
  url: string,
  authLog: (entry: AuthLogEntry) => void,
): Promise<RunningHost> {
  const client = { ...CLIENT, redirect_uri: `${url}auth-oidc-callback`, post_logout_redirect_uri: `${url}login` }
  await idp.addClient({
    ...CLIENT,
    redirect_uris: [client.redirect_uri],
    post_logout_redirect_uris: [client.post_logout_redirect_uri],
  })
  return startHost({
    port: 0,
    config: {
      settings: { cert: 'localhost', trustedProxy: '127.0.0.1' },
      domains: { '': { authStrategies: { oidc: { issuer: idp.issuer, newAccounts: true, client, groups: {} } } } },
    },
    authLog,
    output: { write: () => undefined },
  })
}
