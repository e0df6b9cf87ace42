import { expect } from 'chai'
import type { AnswerDetails, ClientState } from '../../../sidecar/client/app-store.ts'
import { createCursor } from '../../../sidecar/client/cursor.ts'
import type { MessageRecord } from '../../../sidecar/client/wire/bodies.ts'

const COMPLETE: AnswerDetails = { isTruncated: false, acks: [] }
const message = (time: number) => ({ time }) as MessageRecord

describe('The cursor of the client', () => {
  const saves: [ClientState, readonly MessageRecord[], AnswerDetails][] = []
  beforeEach(() => saves.splice(0))
  const cursorOf = (state: ClientState, heard?: (first: MessageRecord) => Promise<boolean>) =>
    createCursor(
      { load: async () => state, save: async (...saved) => void saves.push(saved), ...(heard && { heard }) },
      state,
      Math.random,
    )

  for (const [serverTime, expectedRequests] of [
    [49, [50, 0]],
    [50, [50]],
    [51, [50]],
  ] as const) {
    it(`refetches all messages only if serverTime is below the cursor (${serverTime})`, async () => {
      const asks: number[] = []
      const cursor = cursorOf({ cursor: 50, avatarHash: 'h' })
      const answer = await cursor.take(async (since) => {
        asks.push(since)
        return { serverTime, messages: [message(since)] }
      })
      expect(asks).to.deep.equal(expectedRequests)
      expect(answer.messages).to.deep.equal([message(expectedRequests.at(-1)!)])
      expect(saves).to.deep.equal([[{ cursor: serverTime, avatarHash: 'h' }, answer.messages, COMPLETE]])
      expect(cursor.state).to.deep.equal({ cursor: serverTime, avatarHash: 'h' })
    })
  }

  // Shows: sidecar 17.4.
  it('skips messages that the app already has, and accepts answers without messages', async () => {
    const cursor = cursorOf({ cursor: 1 }, async ({ time }) => time === 2)
    await cursor.take(async () => ({ serverTime: 3, messages: [message(2), message(3)] }))
    await cursor.take(async () => ({ serverTime: 4 }))
    expect(saves).to.deep.equal([
      [{ cursor: 3 }, [message(3)], COMPLETE],
      [{ cursor: 4 }, [], COMPLETE],
    ])
  })

  // Shows: sidecar C4.31, C17.4.
  it('reports received acks and missing messages to the app', async () => {
    const ack = { from: 'W1AW', seqId: '1', kind: 'ack' as const, time: 2 }
    const cursor = cursorOf({ cursor: 1 })
    await cursor.take(async () => ({ serverTime: 3, messages: [message(3)], truncated: true, acks: [ack] }))
    expect(saves).to.deep.equal([[{ cursor: 3 }, [message(3)], { isTruncated: true, acks: [ack] }]])
  })

  // Shows: sidecar C16.10.
  it('the client saves a new device id before returning it, and reuses it', async () => {
    const cursor = cursorOf({ cursor: 1 })
    const deviceId = await cursor.deviceId()
    expect(saves).to.deep.equal([[{ cursor: 1, deviceId }, [], COMPLETE]])
    expect(await cursor.deviceId()).to.deep.equal(deviceId)
    expect(saves.length).to.equal(1)
  })

  it('the client saves the avatar hash that the server confirmed, if it has changed', async () => {
    const cursor = cursorOf({ cursor: 1 })
    for (const hash of [undefined, 'a', 'a', 'b', undefined]) await cursor.confirm(hash)
    expect(saves).to.deep.equal([
      [{ cursor: 1, avatarHash: 'a' }, [], COMPLETE],
      [{ cursor: 1, avatarHash: 'b' }, [], COMPLETE],
      [{ cursor: 1 }, [], COMPLETE],
    ])
  })
})
