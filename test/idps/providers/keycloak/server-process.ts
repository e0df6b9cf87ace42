import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { makeClientCertificate } from '../../../../fixtures/certificate.ts'
import { until } from '../../../meshcentral/support/until.ts'
import { freePort } from '../../../support/host-process.ts'
import { makeServerFiles } from '../../../support/server-files.ts'

const START_LIMIT_MS = 120_000
const STOP_LIMIT_MS = 60_000
const ADMIN = 'admin'

/** A Keycloak that serves its issuers under whatever address it is asked at, and keeps everything in memory. */
export interface ServerProcess {
  readonly port: number
  readonly securePort: number
  readonly administrator: { readonly username: string; readonly password: string }
  /** PEM of the authority of its certificate. */
  readonly ca: string
  /** The one certificate of a client that it trusts. */
  readonly clientCertificate: { readonly cert: string; readonly key: string }
  stop(): Promise<void>
}

/** @param trusted file with the authority (PEM) of addresses that it sends logout tokens to, beside those of the system */
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
  const child = spawn(join(folder, 'bin/kc.sh'), ['start', '--optimized', ...options], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...process.env,
      // It runs for minutes: code that is compiled less well, sooner, is what starts fast.
      JAVA_OPTS_APPEND: '-XX:TieredStopAtLevel=1 -Xmx640m',
      KC_BOOTSTRAP_ADMIN_USERNAME: ADMIN,
      KC_BOOTSTRAP_ADMIN_PASSWORD: password,
    },
  })
  // Its script hands this on to Java, and nothing else that could end it.
  const end = () => child.kill('SIGTERM')
  process.once('exit', end)
  let said = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      said = `${said}${chunk}`.slice(-4_000)
    })
  }
  const stop = async () => {
    process.off('exit', end)
    end()
    await until('Keycloak to stop', () => child.exitCode !== null || child.signalCode !== null, STOP_LIMIT_MS)
    await files.remove()
  }
  try {
    await until('Keycloak to answer', () => answers(port, child.exitCode), START_LIMIT_MS)
  } catch (error) {
    await stop()
    throw new Error(`Keycloak did not start: ${said}`, { cause: error })
  }
  return { port, securePort, administrator: { username: ADMIN, password }, ca: files.ca, clientCertificate, stop }
}

async function answers(port: number, exitCode: number | null): Promise<boolean> {
  if (exitCode !== null) throw new Error(`it ended with code ${exitCode}`)
  const address = `http://127.0.0.1:${port}/realms/master/.well-known/openid-configuration`
  const answer = await fetch(address, { signal: AbortSignal.timeout(5_000) }).catch(() => undefined)
  return answer?.ok === true
}
