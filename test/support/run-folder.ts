import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Name of the environment variable with the folder that all processes of a test run share. */
export const RUN_FOLDER = 'MESH_COMPANION_RUN_FOLDER'

export async function mochaGlobalSetup(): Promise<void> {
  process.env[RUN_FOLDER] = await mkdtemp(join(tmpdir(), 'mesh-companion-run-'))
}

export async function mochaGlobalTeardown(): Promise<void> {
  await rm(process.env[RUN_FOLDER] ?? '', { recursive: true, force: true })
}
