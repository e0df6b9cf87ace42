const BYTES = 16

/**
 * Creates an unguessable device id in hex, with Web Crypto if the platform has it. React Native does not. There
 * `random` is enough, because only the sidecar ever receives its values.
 */
export function createDeviceId(random: () => number): string {
  const bytes = new Uint8Array(BYTES)
  if (globalThis.crypto?.getRandomValues) globalThis.crypto.getRandomValues(bytes)
  else for (const i of bytes.keys()) bytes[i] = random() * 256
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}
