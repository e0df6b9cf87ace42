const BYTES = 16

/**
 * Creates an unguessable device id of 32 hex digits. React Native has no Web Crypto; there `random` is good enough,
 * because only the sidecar gets its values.
 */
export function createDeviceId(random: () => number): string {
  const bytes = new Uint8Array(BYTES)
  if (globalThis.crypto?.getRandomValues) globalThis.crypto.getRandomValues(bytes)
  else for (const i of bytes.keys()) bytes[i] = random() * 256
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}
