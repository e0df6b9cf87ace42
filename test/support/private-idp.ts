import { ScriptedBrowser } from '../../fixtures/browser.ts'
import { makeCertificates } from '../../fixtures/certificate.ts'
import type { Tls } from '../../fixtures/idp/listener.ts'
import { type Idp, type IdpOptions, startIdp } from '../../fixtures/idp/server.ts'
import { createClientFolder } from './client-keys.ts'
import { freePort, startHostProcess } from './host-process.ts'
import { CLIENT } from './sign-in-setup.ts'

export interface PrivateIdpOptions {
  /** Additional TLS options of the IdP. With false, it uses plain HTTP. */
  readonly tls?: Omit<Tls, 'cert' | 'key'> | false
  readonly idp?: Omit<IdpOptions, 'tls'>
  /** Whether an intermediate authority signs the certificate of the IdP. */
  readonly intermediate?: boolean
  /** Returns further members of the issuer object. */
  readonly issuer?: (idp: Idp) => object
  readonly client?: Record<string, unknown>
  /** Client metadata that the IdP registers in addition. */
  readonly registered?: Record<string, unknown>
  /** The host's client certificate. Default null: none. */
  readonly certificate?: { readonly cert: string; readonly key: string } | null
  /** Environment variables of the host. */
  readonly env?: Readonly<Record<string, string>>
  /** Whether the host trusts the authority. Default true. */
  readonly isTrusted?: boolean
}

export type PrivateIdpSetup = Awaited<ReturnType<ReturnType<typeof privateIdps>>>

/**
 * Returns a function that starts an IdP with a private certificate authority, and a host in its own process. The host
 * needs its own process to trust the authority by NODE_EXTRA_CA_CERTS. Both are closed after the test. Call inside a
 * `describe`.
 */
export function privateIdps() {
  const open: (() => unknown)[] = []
  afterEach(async () => {
    for (const close of open.splice(0).reverse()) await close()
  })

  return async (options: PrivateIdpOptions = {}) => {
    const { intermediate = false, certificate = null, isTrusted = true } = options
    const { ca, server } = await makeCertificates({ intermediate })
    const tls = options.tls === false ? {} : { tls: { ...server, ...options.tls } }
    const idp = await startIdp({ claimsIn: 'userinfo', ...options.idp, ...tls })
    open.push(idp.close)
    const folder = await createClientFolder()
    open.push(folder.remove)
    const port = await freePort()
    const redirect_uri = `http://127.0.0.1:${port}/auth-oidc-callback`
    const oidc = {
      issuer: { issuer: idp.issuer, ...options.issuer?.(idp) },
      client: { ...CLIENT, ...options.client, redirect_uri },
      newAccounts: true,
    }
    const credentials = certificate && {
      tlscertfile: await folder.write('cert.pem', certificate.cert),
      tlskeyfile: await folder.write('key.pem', certificate.key),
    }
    const domain = { authStrategies: { oidc }, ...(credentials ? { oidccredentials: credentials } : {}) }
    const config = JSON.stringify({ settings: { cert: '127.0.0.1' }, domains: { '': domain } })
    await idp.addClient({ ...CLIENT, redirect_uris: [redirect_uri], ...options.registered })
    const host = await startHostProcess(await folder.write('config.json', config), port, {
      NODE_EXTRA_CA_CERTS: isTrusted ? await folder.write('ca.pem', ca.cert) : '',
      ...options.env,
    })
    open.push(host.stop)
    /** A browser that trusts the authority. */
    const browser = new ScriptedBrowser({ ca: ca.cert })
    open.push(() => browser.close())
    return { idp, host, browser }
  }
}
