import { setImmediate as endOfTurn } from 'node:timers/promises'
import type { StationKey } from '../../messages/store.ts'
import type { Body } from './answer.ts'
import type { AvatarPiece } from './avatar-cache.ts'
import { type GzipHead, type GzipPart, joinGzip } from './gzip-head.ts'
import { bytesOf, jsonText, textOfBytes } from './json-text.ts'

/** Returns the body of an answer with full avatars. Each avatar is compressed separately, once for all answers. */
export function avatarsBody(serverTime: number, avatars: ReadonlyMap<StationKey, AvatarPiece>): Body {
  const pieces = [...avatars].map(([key, piece], index) => {
    const separator = index === 0 ? '' : ','
    return { name: bytesOf(`${separator}${jsonText(key)}:`), piece }
  })
  const opening = bytesOf(`{"serverTime":${serverTime},"avatars":{`)
  const texts = [opening, ...pieces.flatMap(({ name, piece }) => [name, piece.text])]
  const bytes = texts.reduce((sum, { length }) => sum + length, 0)

  async function compressed(): Promise<GzipHead> {
    const parts: GzipPart[] = [{ text: opening }]
    for (const { name, piece } of pieces) {
      if (!piece.isCompressed) await endOfTurn()
      parts.push({ text: name }, { text: piece.text, blocks: (await piece.compressed()).blocks })
    }
    return joinGzip(parts)
  }

  return {
    head: {
      bytes,
      text: () => textOfBytes(Buffer.concat(texts)),
      copyTo(target) {
        let offset = 0
        for (const text of texts) {
          target.set(text, offset)
          offset += text.length
        }
      },
      compressed,
    },
    tail: '}}',
  }
}
