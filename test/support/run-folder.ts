import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Names a folder for what the processes of one run of all tests share. */
export const RUN_FOLDER = 'MESH_COMPANION_RUN_FOLDER'

export async function mochaGlobalSetup(): Promise<void> {
  process.env[RUN_FOLDER] = await mkdtemp(join(tmpdir(), 'mesh-companion-run-'))
}

export async function mochaGlobalTeardown(): Promise<void> {
  await rm(process.env[RUN_FOLDER] ?? '', { recursive: true, force: true })
}
