import { access, mkdtemp, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'

/**
 * Makes something that is kept between runs, where it is not there yet. What ends half-way leaves nothing.
 *
 * @param place where it is to lie, in `scratch`
 * @param make does so in an empty folder. @returns what of that is kept: the folder itself where nothing is named
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

export function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}
