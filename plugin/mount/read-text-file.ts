import { closeSync, constants, openSync, readFileSync, readSync } from 'node:fs'

/**
 * Returns the text of a file. Throws like `readFileSync`.
 *
 * @param maxBytes size limit. Of a larger file, one byte more is read
 */
export function readTextFile(file: string, maxBytes?: number): string {
  if (maxBytes === undefined) return readFileSync(file, 'utf8')
  // O_NONBLOCK prevents a pipe without a writer from blocking the whole server. Windows does not have this flag.
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
