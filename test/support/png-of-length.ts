import { pngChunks, pngFile } from './png-file.ts'

/** Returns a 64x64 PNG in base64 with a length of exactly `characters`, a multiple of 4. A text chunk fills it up. */
export function pngOfLength(characters: number): string {
  const withText = (length: number) => pngFile(pngChunks({ extra: [{ type: 'teXt', data: Buffer.alloc(length) }] }))
  const bytes = (characters / 4) * 3
  return withText(bytes - withText(0).length).toString('base64')
}
