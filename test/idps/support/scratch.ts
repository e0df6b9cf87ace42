import { mkdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * Returns the folder of a provider that is kept between runs. `MESH_COMPANION_SCRATCH` names the parent folder of all.
 */
export async function scratchFor(provider: string): Promise<string> {
  const { MESH_COMPANION_SCRATCH: configured } = process.env
  const root = configured === undefined || configured === '' ? join(tmpdir(), 'mesh-companion-idps') : configured
  const folder = join(root, provider.toLowerCase().replace(/[^a-z0-9]+/g, '-'))
  await mkdir(folder, { recursive: true })
  return folder
}
