import { execFile } from 'node:child_process'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { exists, keepOnce } from '../../support/kept.ts'
import { needPrograms } from '../../support/system-packages.ts'

const run = promisify(execFile)

const TESTED_VERSION = '26.4.5'
/** `MESH_COMPANION_KEYCLOAK` selects another version. */
export const KEYCLOAK_VERSION = process.env.MESH_COMPANION_KEYCLOAK || TESTED_VERSION
const ARTIFACT = `org.keycloak:keycloak-quarkus-dist:${KEYCLOAK_VERSION}:tar.gz`
const LIMIT_MS = 400_000

/** Options that Keycloak fixes at build time: it keeps nothing on disk and accepts client certificates. */
const BUILD = ['--db=dev-mem', '--https-client-auth=request', '--health-enabled=false', '--metrics-enabled=false']

export type Distribution =
  | { readonly kind: 'ready'; readonly folder: string }
  | { readonly kind: 'missing'; readonly reason: string }

/** Downloads, unpacks and builds Keycloak once, and keeps it for later runs. */
export async function prepareDistribution(scratch: string): Promise<Distribution> {
  const folder = join(scratch, `keycloak-${KEYCLOAK_VERSION}`)
  // Written last, so that an incomplete folder lacks it.
  const marker = join(folder, 'built-for-the-matrix')
  const reason = await needPrograms({ java: 'openjdk-17-jre-headless', mvn: 'maven', tar: 'tar' })
  if (reason !== undefined) return { kind: 'missing', reason }
  if (await exists(marker)) return { kind: 'ready', folder }

  const archive = join(scratch, `keycloak-${KEYCLOAK_VERSION}.tar.gz`)
  const failed = await keepOnce(scratch, archive, async (coming) => {
    const words = ['-B', '-q', 'dependency:copy', `-Dartifact=${ARTIFACT}`, `-DoutputDirectory=${coming}`]
    await run('mvn', words, { timeout: LIMIT_MS, cwd: coming })
    return join(coming, `keycloak-quarkus-dist-${KEYCLOAK_VERSION}.tar.gz`)
  })
  if (failed !== undefined) return { kind: 'missing', reason: `Maven gives no ${ARTIFACT}: ${failed}` }
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder)
  await run('tar', ['-xzf', archive, '-C', folder, '--strip-components=1'], { timeout: LIMIT_MS })
  await run(join(folder, 'bin/kc.sh'), ['build', ...BUILD], { timeout: LIMIT_MS })
  await writeFile(marker, `${BUILD.join('\n')}\n`)
  return { kind: 'ready', folder }
}
