/** Maximum length of a line from APRS-IS in bytes, without its line end. A valid packet has at most 509 bytes. */
export const MAX_LINE_BYTES = 4096

const CR = 13

/**
 * Creates a function that splits a byte stream at LF or CRLF into Latin-1 lines, without empty ones. Drops lines longer
 * than `maxBytes`, and calls `onTooLong` once for each.
 */
export function lineSplitter(maxBytes: number, onTooLong: () => void): (chunk: Buffer) => string[] {
  // Buffer for the beginning of a line until its end arrives. The extra byte is for the CR of a line of maximum length.
  const held = Buffer.allocUnsafe(maxBytes + 1)
  let heldBytes = 0
  let skipping = false

  function tooLong(): undefined {
    heldBytes = 0
    onTooLong()
  }

  /**
   * Returns the buffered beginning of a line plus `part`, without the final CR. Returns undefined if the line is too
   * long.
   */
  function complete(part: string): string | undefined {
    if (skipping) {
      skipping = false
      return undefined
    }
    if (heldBytes + part.length > held.length) return tooLong()
    const line = heldBytes === 0 ? part : held.toString('latin1', 0, heldBytes) + part
    heldBytes = 0
    const length = line.charCodeAt(line.length - 1) === CR ? line.length - 1 : line.length
    if (length > maxBytes) return tooLong()
    return length < line.length ? line.slice(0, length) : line
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
    const lines: string[] = []
    // Faster than decoding each line.
    const text = chunk.toString('latin1')
    let start = 0
    for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', start)) {
      const line = complete(text.slice(start, end))
      if (line !== undefined && line !== '') lines.push(line)
      start = end + 1
    }
    if (start < chunk.length) hold(chunk.subarray(start))
    return lines
  }
}
