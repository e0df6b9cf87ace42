import { closeSync, constants, openSync, readFileSync, readSync } from 'node:fs'

/**
 * The text of a file. Throws like `readFileSync`.
 *
 * @param maxBytes undefined: the whole file. Otherwise at most one byte more is read, which shows that the file is
 *   longer
 */
export function readTextFile(file: string, maxBytes?: number): string {
  if (maxBytes === undefined) return readFileSync(file, 'utf8')
  // A pipe that no process writes to would block the whole server. Windows has no such flag.
  const descriptor = openSync(file, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
  try {
    const bytes = Buffer.alloc(maxBytes + 1)
    let length = 0
    while (length < bytes.length) {
      const read = readSync(descriptor, bytes, length, bytes.length - length, null)
      if (read === 0) break
      length += read
    }
    return bytes.toString('utf8', 0, length)
  } finally {
    closeSync(descriptor)
  }
}
