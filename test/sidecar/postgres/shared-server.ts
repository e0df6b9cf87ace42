import pg from 'pg'
import { type Postgres, startPostgres } from '../../support/postgres.ts'

let server: Promise<Postgres> | undefined
let databases = 0

// Of all tests of the process.
after(async () => (await server)?.stop())

/** The address of a new, empty database on a server that all tests share. The first call starts it: give it a minute. */
export async function freshDatabase(): Promise<string> {
  server ??= startPostgres()
  const { address } = await server
  databases += 1
  const name = `fresh_${databases}`
  await runAt(address, `CREATE DATABASE ${name}`)
  return address.replace(/[^/]*$/, name)
}

/** Runs statements there, as somebody else. */
export async function runAt(address: string, text: string): Promise<readonly Record<string, unknown>[]> {
  const client = new pg.Client(address)
  await client.connect()
  try {
    return (await client.query(text)).rows
  } finally {
    await client.end()
  }
}
