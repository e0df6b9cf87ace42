import type { StationKey } from './station.ts'

/** A message for a station as it came from the air. */
export interface IncomingMessage {
  readonly from: StationKey
  readonly to: StationKey
  /** What the sender put after the last `{`, trailing blanks dropped; empty when none. */
  readonly seqId: string
  /** The text's bytes, unchanged. */
  readonly text: Buffer
}

/** A stored message; `time` is its server time. */
export interface StoredMessage extends IncomingMessage {
  readonly time: number
}
