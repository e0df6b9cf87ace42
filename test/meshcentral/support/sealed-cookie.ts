import { createCipheriv, randomBytes } from 'node:crypto'

/** Returns a cookie sealed as MeshCentral seals its own. */
export function sealedBy(key: Buffer, content: object): string {
  const [iv, time] = [randomBytes(12), Math.floor(Date.now() / 1000)]
  const cipher = createCipheriv('aes-256-gcm', key.subarray(0, 32), iv)
  const sealed = Buffer.concat([cipher.update(JSON.stringify({ ...content, time })), cipher.final()])
  const text = Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString('base64')
  return text.replaceAll('+', '@').replaceAll('/', '$')
}
