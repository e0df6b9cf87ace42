import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { ScriptedBrowser } from '../../../fixtures/browser.ts'
import { type Certificates, makeCertificates } from '../../../fixtures/certificate.ts'
import { type Idp, startIdp } from '../../../fixtures/idp/server.ts'
import { CLIENT, whoAmI } from '../../support/sign-in-setup.ts'

const HOST = fileURLToPath(new URL('../../../fixtures/host/main.ts', import.meta.url))

interface Line {
  readonly component: string
  readonly event: string
  readonly msg: string
  readonly url?: string
  readonly code?: string
  readonly causeCode?: string
}

describe('an IdP whose certificate authority is private', () => {
  let folder: string
  let certificates: Certificates
  let idp: Idp
  let children: ChildProcess[]

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'private-authority-'))
    // The IdP sends the certificate between the two along; only the root is not known.
    certificates = await makeCertificates({ intermediate: true })
    idp = await startIdp({ tls: certificates.server })
    await writeFile(join(folder, 'chain.pem'), certificates.ca.cert)
    await writeFile(join(folder, 'cert.pem'), certificates.server.cert)
    await writeFile(join(folder, 'key.pem'), certificates.server.key, { mode: 0o600 })
    children = []
  })
  afterEach(async () => {
    for (const child of children) {
      const closed = once(child, 'close')
      child.kill('SIGTERM')
      await closed
    }
    await idp.close()
    await rm(folder, { recursive: true })
  })

  /** The reference host as administrators run it, serving by the same certificate as the IdP. */
  async function startHostProcess(environment: Readonly<Record<string, string>>) {
    const config = join(folder, 'config.json')
    const oidc = { issuer: idp.issuer, client: CLIENT, newAccounts: true }
    await writeFile(
      config,
      JSON.stringify({
        settings: { cert: '127.0.0.1', certFile: join(folder, 'cert.pem'), keyFile: join(folder, 'key.pem') },
        domains: { '': { authStrategies: { oidc } } },
      }),
    )
    const { NODE_EXTRA_CA_CERTS: _, ...inherited } = process.env
    const child = spawn(process.execPath, ['--import', 'tsx', HOST, '--config', config, '--port', '0'], {
      env: { ...inherited, ...environment },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    children.push(child)
    const lines: Line[] = []
    const waiting = new Map<string, (line: Line) => void>()
    createInterface({ input: child.stdout }).on('line', (text) => {
      const line = JSON.parse(text) as Line
      lines.push(line)
      waiting.get(line.event)?.(line)
    })
    const told = (event: string) =>
      new Promise<Line>((resolve, reject) => {
        const known = lines.find((line) => line.event === event)
        if (known) return resolve(known)
        waiting.set(event, resolve)
        child.once('exit', () => reject(new Error(`the host stopped before it said ${event}`)))
      })
    const { url = '' } = await told('listening')
    await idp.addClient({ ...CLIENT, redirect_uris: [`${url}auth-oidc-callback`] })
    return { url, lines, told }
  }
  const browser = () => new ScriptedBrowser({ ca: certificates.ca.cert })

  it('fails with OIDC: Discovery failed. and UNABLE_TO_GET_ISSUER_CERT_LOCALLY in both logs, and the person reads a message of ours', async () => {
    const { url, lines, told } = await startHostProcess({})
    const failed = await told('discovery-failed')
    expect(failed).to.include({ msg: 'OIDC: Discovery failed. UNABLE_TO_GET_ISSUER_CERT_LOCALLY' })
    const page = await browser().get(`${url}auth-oidc`)
    expect(page.url).to.equal(`${url}login?failure=provider_unreachable`)
    expect(page.text).to.not.include('CERT')
    const line = lines.find(({ event }) => event === 'login-failed')
    expect(line).to.include({
      component: 'auth',
      code: 'discovery_failed',
      causeCode: 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
    })
    expect(line?.msg).to.include('OIDC: Discovery failed.').and.include('NODE_EXTRA_CA_CERTS')
  })

  it('works with the whole chain named in NODE_EXTRA_CA_CERTS', async () => {
    const { url, lines, told } = await startHostProcess({ NODE_EXTRA_CA_CERTS: join(folder, 'chain.pem') })
    await told('discovered')
    const person = browser()
    expect((await person.login(url, 'alice', 'alice-demo')).url).to.equal(url)
    expect(await whoAmI(person, url)).to.include({ status: 200, id: '~oidc:u-1001' })
    expect(lines.some(({ event }) => event === 'discovery-failed')).to.equal(false)
  })
})
