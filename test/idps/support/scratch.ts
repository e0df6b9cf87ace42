import { mkdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * A folder of this provider's own that is kept between runs. `MESH_COMPANION_SCRATCH` names the one that they all lie
 * in.
 */
export async function scratchFor(provider: string): Promise<string> {
  const { MESH_COMPANION_SCRATCH: own } = process.env
  const root = own === undefined || own === '' ? join(tmpdir(), 'mesh-companion-idps') : own
  const folder = join(root, provider.toLowerCase().replace(/[^a-z0-9]+/g, '-'))
  await mkdir(folder, { recursive: true })
  return folder
}
