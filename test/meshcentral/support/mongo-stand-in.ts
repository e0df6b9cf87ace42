import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { keepOnce } from '../../idps/support/kept.ts'
import { scratchFor } from '../../idps/support/scratch.ts'
import { needPrograms } from '../../idps/support/system-packages.ts'

const SOURCES = fileURLToPath(new URL('mongo', import.meta.url))
const LIMIT_MS = 400_000

/**
 * A database with MongoDB's protocol and change streams, as peers of MeshCentral require: `mongo-java-server` in
 * memory. It replaces MongoDB, which no package registry offers.
 */
export interface MongoStandIn {
  readonly url: string
  close(): Promise<void>
}

/** Downloads the server if necessary, and starts it. @returns the reason as a string if that is impossible */
export async function startMongoStandIn(): Promise<MongoStandIn | string> {
  const reason = await needPrograms({ javac: 'openjdk-17-jdk-headless', mvn: 'maven' })
  if (reason !== undefined) return reason
  const folder = await scratchFor('mongo-stand-in')
  const jars = join(folder, 'jars')
  const failed = await keepOnce(folder, jars, async (coming) => {
    await cp(join(SOURCES, 'pom.xml'), join(coming, 'pom.xml'))
    const goal = ['-B', '-q', 'dependency:copy-dependencies', '-DoutputDirectory=jars']
    await promisify(execFile)('mvn', goal, { cwd: coming, timeout: LIMIT_MS })
    return join(coming, 'jars')
  })
  if (failed !== undefined) return `Maven gives no mongo-java-server: ${failed}`

  const words = ['-XX:TieredStopAtLevel=1', '-cp', join(jars, '*'), join(SOURCES, 'Database.java')]
  const child = spawn('java', words, { stdio: ['pipe', 'pipe', 'ignore'] })
  const ended = once(child, 'close')
  const [line] = (await Promise.race([
    once(createInterface({ input: child.stdout }), 'line'),
    ended.then(() => ['']),
  ])) as readonly string[]
  if (!line) return 'the database ended at its start'
  return {
    url: `mongodb://127.0.0.1:${line}/?directConnection=true`,
    async close() {
      child.stdin.end()
      await ended
    },
  }
}
