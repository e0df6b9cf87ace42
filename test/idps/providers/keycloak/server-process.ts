import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { makeClientCertificate } from '../../../../fixtures/certificate.ts'
import { freePort } from '../../../support/host-process.ts'
import { makeServerFiles } from '../../../support/server-files.ts'
import { startProgram } from '../../../support/started-program.ts'
import { answersAt } from '../../support/endpoint-check.ts'

const START_LIMIT_MS = 120_000
const ADMIN = 'admin'

/** A Keycloak process. It serves its issuers under the address of each request and keeps everything in memory. */
export interface ServerProcess {
  readonly port: number
  readonly securePort: number
  readonly administrator: { readonly username: string; readonly password: string }
  /** PEM of the authority that signed its certificate. */
  readonly ca: string
  /** The only client certificate that it trusts. */
  readonly clientCertificate: { readonly cert: string; readonly key: string }
  stop(): Promise<void>
}

/** @param trusted file with a certificate authority (PEM) to trust for logout tokens, in addition to the system's */
export async function startServer(folder: string, trusted?: string): Promise<ServerProcess> {
  const [files, clientCertificate] = await Promise.all([makeServerFiles('keycloak'), makeClientCertificate()])
  const [port, securePort] = [await freePort(), await freePort()]
  const password = randomBytes(12).toString('hex')
  const options = [
    '--hostname-strict=false',
    '--http-enabled=true',
    '--http-host=127.0.0.1',
    `--http-port=${port}`,
    `--https-port=${securePort}`,
    `--https-certificate-file=${files.certFile}`,
    `--https-certificate-key-file=${files.keyFile}`,
    `--https-trust-store-file=${await files.write('client.pem', clientCertificate.cert)}`,
    '--cache=local',
    ...(trusted === undefined ? [] : [`--truststore-paths=${trusted}`]),
  ]
  const env = {
    // The process runs only for minutes, so favour a fast start over fast code.
    JAVA_OPTS_APPEND: '-XX:TieredStopAtLevel=1 -Xmx640m',
    KC_BOOTSTRAP_ADMIN_USERNAME: ADMIN,
    KC_BOOTSTRAP_ADMIN_PASSWORD: password,
  }
  const ready = answersAt(`http://127.0.0.1:${port}/realms/master/.well-known/openid-configuration`)
  const program = join(folder, 'bin/kc.sh')
  const started = await startProgram(program, ['start', '--optimized', ...options], {
    env,
    ready,
    limitMs: START_LIMIT_MS,
  })
  const administrator = { username: ADMIN, password }
  const stop = () => started.stop().then(files.remove)
  return { port, securePort, administrator, ca: files.ca, clientCertificate, stop }
}
