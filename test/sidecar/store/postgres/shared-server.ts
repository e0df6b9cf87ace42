import pg from 'pg'
import { type Certificates, makeCertificates } from '../../../../fixtures/certificate.ts'
import { type Postgres, startPostgres } from '../../../support/postgres.ts'

let server: Promise<Postgres & Pick<Certificates, 'ca'>> | undefined
let databases = 0

// A runner of test files side by side that is slow to end is told to, and then only what listens here lets it end the server.
process.once('SIGTERM', () => process.exit())

/** The address of a new, empty database on a server that all tests of this process share. The first call starts it: give it a minute. */
export async function freshDatabase(): Promise<string> {
  const { address } = await sharedServer()
  databases += 1
  const name = `fresh_${databases}`
  await runAt(address, `CREATE DATABASE ${name}`)
  return address.replace(/[^/]*$/, name)
}

/** In PEM: by whom the shared server's certificate is signed. */
export async function authority(): Promise<string> {
  return (await sharedServer()).ca.cert
}

/** Starts it where nobody has yet. */
export function sharedServer(): Promise<Postgres & Pick<Certificates, 'ca'>> {
  server ??= (async () => {
    // Of a kind of its own: this server outlives the turn of six, and a test beside it needs certificates that are not these.
    const certificates = await makeCertificates({ names: ['database.test'] })
    return { ...(await startPostgres({ certificate: certificates.server, untilExit: true })), ca: certificates.ca }
  })()
  return server
}

/** Runs statements there, as somebody else; resolves with the rows of the last. */
export async function runAt(address: string, text: string): Promise<readonly Record<string, unknown>[]> {
  const client = new pg.Client(address)
  await client.connect()
  try {
    // Of several statements there is a list of results.
    const results: pg.QueryResult | pg.QueryResult[] = await client.query(text)
    return (Array.isArray(results) ? results.at(-1) : results)?.rows ?? []
  } finally {
    await client.end()
  }
}
