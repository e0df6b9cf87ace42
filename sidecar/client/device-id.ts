const BYTES = 16

/**
 * Makes an unguessable device id in hex, by Web Crypto if the platform has it. React Native has not; `random` is enough
 * there, because only the sidecar ever sees its values.
 */
export function createDeviceId(random: () => number): string {
  const bytes = new Uint8Array(BYTES)
  if (globalThis.crypto?.getRandomValues) globalThis.crypto.getRandomValues(bytes)
  else for (const i of bytes.keys()) bytes[i] = random() * 256
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}
