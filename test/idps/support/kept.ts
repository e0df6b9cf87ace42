import { createHash } from 'node:crypto'
import { access, mkdtemp, readdir, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'

/**
 * Makes something once and keeps it between runs. A failure leaves nothing behind.
 *
 * @param place its path, in `scratch`
 * @param make works in an empty folder and returns the path to keep; if undefined, the folder itself is kept
 * @returns why it cannot be made, in a line
 */
export async function keepOnce(
  scratch: string,
  place: string,
  make: (folder: string) => Promise<string | undefined>,
): Promise<string | undefined> {
  if (await exists(place)) return undefined
  const coming = await mkdtemp(join(scratch, 'coming-'))
  try {
    await rename((await make(coming)) ?? coming, place)
    return undefined
  } catch (error) {
    const { stdout = '', stderr = '' } = (error ?? {}) as { readonly stdout?: string; readonly stderr?: string }
    const lines = `${stdout}\n${stderr}\n${error}`.split('\n').filter((line) => line.trim() !== '')
    return lines.find((line) => /error/i.test(line)) ?? lines[0]
  } finally {
    await rm(coming, { recursive: true, force: true })
  }
}

/** Returns a hash of all files in a folder, so that a result is reused only for the same sources. */
export async function fingerprint(folder: string): Promise<string> {
  const hash = createHash('sha256')
  const files = await readdir(folder, { recursive: true, withFileTypes: true })
  const names = files.filter((file) => file.isFile()).map((file) => join(file.parentPath, file.name))
  for (const name of names.sort()) hash.update(await readFile(name))
  return hash.digest('hex').slice(0, 16)
}

export function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}
