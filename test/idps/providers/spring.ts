import { execFile } from 'node:child_process'
import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { makeCertificates, makeClientCertificate } from '../../../fixtures/certificate.ts'
import { freePort } from '../../support/host-process.ts'
import { makeServerFiles } from '../../support/server-files.ts'
import { BACKCHANNEL, because, ENCRYPTED, FORM_POST, JARM } from '../support/cases.ts'
import { startCommanded } from '../support/commanded-process.ts'
import { exists, fingerprint, keepOnce } from '../support/kept.ts'
import { publishKeys } from '../support/key-publisher.ts'
import { answerConsent, asksForPassword } from '../support/pages.ts'
import { BOB, PEOPLE } from '../support/people.ts'
import type { ProviderPackage, RealIdp } from '../support/real-idp.ts'
import { needPrograms } from '../support/system-packages.ts'
import { refuseOthers } from '../support/understood.ts'
import { untilDiscovered } from '../support/until-discovered.ts'

/** Must equal the version in `spring/pom.xml`. */
const VERSION = '1.5.3'
const SOURCES = fileURLToPath(new URL('spring/', import.meta.url))
const BUILD_LIMIT_MS = 400_000
const START_LIMIT_MS = 60_000

export const spring: ProviderPackage = {
  name: 'Spring Authorization Server',
  startLimitMs: BUILD_LIMIT_MS + START_LIMIT_MS,
  async install(scratch) {
    const jar = join(scratch, `authorization-server-${await fingerprint(SOURCES)}.jar`)
    const reason = await needPrograms({
      java: 'openjdk-17-jre-headless',
      ...((await exists(jar)) ? {} : { javac: 'openjdk-17-jdk-headless', mvn: 'maven' }),
    })
    if (reason !== undefined) return { kind: 'missing', reason }
    const failed = await keepOnce(scratch, jar, async (folder) => {
      await cp(SOURCES, folder, { recursive: true })
      await promisify(execFile)('mvn', ['-q', '-B', 'package'], { cwd: folder, timeout: BUILD_LIMIT_MS })
      return join(folder, 'target/authorization-server.jar')
    })
    if (failed !== undefined) return { kind: 'missing', reason: `Maven does not build it: ${failed}` }
    return { kind: 'installed', idp: await provider(jar) }
  },
}

async function provider(jar: string): Promise<RealIdp> {
  const [port, securePort] = [await freePort(), await freePort()]
  const issuer = `http://localhost:${port}`
  const { ca, certFile: certificate, keyFile: key, remove } = await makeServerFiles('spring')
  const options = [
    ...[`--server.port=${port}`, '--server.address=127.0.0.1', '--logging.level.root=warn'],
    ...[`--tls.port=${securePort}`, `--tls.certificate=${certificate}`, `--tls.key=${key}`],
  ]
  const keys = await publishKeys()
  const selfSigned = await makeClientCertificate()
  const authority = await makeCertificates()
  // Spring tells the two certificate methods apart by the length of the chain.
  const chain = { cert: `${authority.server.cert}\n${authority.ca.cert}`, key: authority.server.key }
  let rotated = false
  let program: ReturnType<typeof startCommanded> | undefined
  const order = (verb: string, given?: unknown) => {
    if (!program) throw new Error('not started')
    return program.command(verb, given)
  }
  const close = async () => {
    await program?.close()
    await keys.close()
    await remove()
  }
  return {
    version: VERSION,
    issuer,
    secure: {
      issuer: `https://localhost:${securePort}`,
      ca,
      clientCertificate: chain,
      selfSignedCertificate: selfSigned,
    },
    cannot: CANNOT,
    ownPage: new Set(['wrong_client_id', 'wrong_redirect_uri', 'wrong_post_logout']),
    groupName: (name) => name,
    refusedToPublic: ['introspection-failed', 'logout-incomplete'],
    async start() {
      if (program) await order('listen')
      else program = startCommanded('java', ['-XX:TieredStopAtLevel=1', '-jar', jar, ...options])
      await untilDiscovered(issuer, program, START_LIMIT_MS)
    },
    async stop() {
      if (program?.isUp()) await order('away')
    },
    close,
    async reset() {
      await order('clear')
      // Only if necessary: creating keys takes a second.
      if (rotated) await order('rotate')
      rotated = false
      for (const person of PEOPLE) await order('person', { ...person, disabled: false })
    },
    async register(client) {
      refuseOthers(client, UNDERSTOOD)
      if ((client.response_types ?? ['code']).join() !== 'code') throw new Error('has the response type code alone')
      await order('client', {
        ...client,
        jwks_uri: client.jwks ? keys.addressOf(client.jwks) : client.jwks_uri,
      })
      return {}
    },
    setPerson: async (person) => void (await order('person', { ...person, disabled: false })),
    disable: async (person) => void (await order('person', { ...person, disabled: true })),
    acts: {
      delete: ({ username }) => order('delete', username),
      revokeConsent: ({ username }) => order('revokeConsent', username),
    },
    endSessions: async ({ username }) => void (await order('endSessions', username)),
    async rotateKeys() {
      rotated = true
      await order('rotate')
    },
    signIn: async (browser, page, { username, password }) =>
      answerConsent(browser, await browser.signIn(page, username, password), 'Allow'),
    asksWho: asksForPassword,
    // The login page has no cancel button; the consent page has one.
    cancel: async (browser, page) =>
      answerConsent(browser, await browser.signIn(page, BOB.username, BOB.password), 'Deny'),
    confirmLogout: async (_browser, page) => page,
    ownSessions: async (person) => Number(await order('sessions', person.username)),
  }
}

const UNDERSTOOD = [
  ...(['token_endpoint_auth_signing_alg', 'jwks_uri', 'claimsIn', 'id_token_signed_response_alg'] as const),
  ...(['tls_client_auth_subject_dn', 'tls_client_certificate_bound_access_tokens'] as const),
  // Spring binds access tokens if the client sends a DPoP proof, but cannot require one.
  'dpop_bound_access_tokens',
] as const

const CANNOT: RealIdp['cannot'] = {
  signed_eddsa: 'its list of algorithms has no EdDSA',
  signed_hs256: 'ID tokens are signed with a key pair only',
  signed_userinfo: 'UserInfo is JSON only',
  ...because('it encrypts nothing', ...ENCRYPTED),
  ...because('it knows only the type code, and ignores response_mode', ...FORM_POST, 'fragment', ...JARM),
  pushed: 'a client cannot be made to push its requests (another test covers a client that chooses to)',
  ...because('it ignores the parameter request', 'request_object', 'pushed_request_object'),
  ...because('it sends no logout tokens', ...BACKCHANNEL),
  max_age: 'it ignores max_age',
  authorization_params: 'it ignores prompt=login',
  introspection_disabled: 'tokens of a disabled user stay active',
  introspection_ended: 'tokens do not depend on its sessions',
}
