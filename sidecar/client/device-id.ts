const BYTES = 16

/**
 * An id for a device that nobody can guess, in hex. By Web Crypto, and by `random` where that is missing, as in React
 * Native: nobody but the sidecar sees what came of it.
 */
export function createDeviceId(random: () => number): string {
  const bytes = new Uint8Array(BYTES)
  if (globalThis.crypto?.getRandomValues) globalThis.crypto.getRandomValues(bytes)
  else for (const i of bytes.keys()) bytes[i] = random() * 256
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}
