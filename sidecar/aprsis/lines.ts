/** Longest line that is taken from APRS-IS, line end not counted; packets have at most 509 bytes. */
export const MAX_LINE_BYTES = 4096

const LF = 10
const CR = 13

/**
 * Cuts a byte stream into lines, ended by LF or CRLF; empty ones are left out. What is returned are views of the chunk where a line
 * lies within one, so that nothing is copied per byte or per line. A line longer than `maxBytes` is dropped, kept nowhere
 * meanwhile, and reported once by `onTooLong`.
 */
export function lineSplitter(maxBytes: number, onTooLong: () => void): (chunk: Buffer) => Buffer[] {
  // The beginning of a line whose end has not come; one byte more for the CR of a line of full length.
  const held = Buffer.allocUnsafe(maxBytes + 1)
  let heldBytes = 0
  let skipping = false

  function tooLong(): undefined {
    heldBytes = 0
    onTooLong()
  }

  /** The line that ends with `part`, without its CR. */
  function complete(part: Buffer): Buffer | undefined {
    if (skipping) {
      skipping = false
      return undefined
    }
    if (heldBytes + part.length > held.length) return tooLong()
    const line = heldBytes === 0 ? part : Buffer.concat([held.subarray(0, heldBytes), part])
    heldBytes = 0
    const length = line.at(-1) === CR ? line.length - 1 : line.length
    return length > maxBytes ? tooLong() : line.subarray(0, length)
  }

  function hold(part: Buffer): void {
    if (skipping) return
    if (heldBytes + part.length > held.length) {
      skipping = true
      tooLong()
      return
    }
    heldBytes += part.copy(held, heldBytes)
  }

  return (chunk) => {
    const lines: Buffer[] = []
    let start = 0
    for (let end = chunk.indexOf(LF); end >= 0; end = chunk.indexOf(LF, start)) {
      const line = complete(chunk.subarray(start, end))
      if (line !== undefined && line.length > 0) lines.push(line)
      start = end + 1
    }
    if (start < chunk.length) hold(chunk.subarray(start))
    return lines
  }
}
