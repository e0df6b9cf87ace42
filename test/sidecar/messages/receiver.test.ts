import { expect } from 'chai'
import fc from 'fast-check'
import { createAckSender } from '../../../sidecar/messages/acks/ack-sender.ts'
import { NO_OPTIONS } from '../../../sidecar/messages/devices/device-options.ts'
import { createReceiver } from '../../../sidecar/messages/receiver.ts'
import type { History } from '../../../sidecar/messages/store.ts'
import { type CounterName, createMetrics } from '../../../sidecar/metrics.ts'
import { deferred } from '../../support/deferred.ts'
import { recordedLog } from '../../support/recorded-log.ts'
import { newer, registration, temporaryStores } from '../store/sqlite/temporary-stores.ts'

const B = registration('B', { ackMessages: true })
const C = registration('C', { platform: 'ios' })
const packet = (body: string, source = 'A') => latin1(`${source}>APRS,TCPIP*,qAC,SERVER:${body}`)
/** Returns a line as the receiver gets it, with one character for each byte. */
const latin1 = (line: string) => Buffer.from(line).toString('latin1')

describe('The receiver of packet lines', () => {
  const stores = temporaryStores()
  const { log, lines: logged } = recordedLog('info')

  /**
   * Returns a receiver with a real store. Station B wants acks, C does not. `append` replaces the store's function.
   */
  async function setUp(append?: (original: History['append']) => History['append']) {
    const metrics = createMetrics()
    const store = await stores.open({}, ':memory:')
    for (const registration of [B, C]) await store.stations.register(registration)
    const sent: string[] = []
    const batches: number[] = []
    const stored: History['append'] = (messages, mayAck) => {
      batches.push(messages.length)
      return store.history.append(messages, mayAck)
    }
    const upstream = { verified: true }
    const receive = createReceiver({
      stations: store.stations,
      history: { append: append ? append(stored) : stored },
      receivedAcks: store.receivedAcks,
      isBlocked: (sender) => sender === 'PEST-1',
      acks: createAckSender({
        send: (line) => upstream.verified && sent.push(line) > 0,
        canSend: () => upstream.verified,
        metrics,
      }),
      metrics,
      log,
    })
    const counts = (...names: CounterName[]) => names.map((name) => metrics.value(name))
    const history = async (key: string) => (await newer(store, key)).messages
    return { receive, store, counts, history, sent, batches, upstream }
  }

  it('stores and acknowledges a received message without changing a byte', async () => {
    const { receive, history, counts, sent } = await setUp()
    const text = Buffer.from([0x68, 0x69, 0xff, 0x00, 0x20])
    await receive([`${packet(':B        :')}${text.toString('latin1')}{12 `])
    const [message, ...furtherMessages] = await history('B')
    expect(message).to.deep.include({ from: 'A', to: 'B', seqId: '12', text })
    expect(furtherMessages).to.deep.equal([])
    expect(sent).to.deep.equal(['B>APRS,TCPIP*::A        :ack12'])
    expect(counts('messages_stored', 'acks_sent')).to.deep.equal([1, 1])
  })

  // Shows: sidecar C17.4, C17.5.
  it('stores acks and rejections for a station if one of its devices wants them', async () => {
    const { receive, store, history, counts, sent } = await setUp()
    await store.stations.register({ ...B, options: { ...NO_OPTIONS, wantAcks: true } })
    await receive([packet(':B        :ack12'), packet(':B        :rej7}8'), packet(':C        :ack12')])
    await receive([packet(':B        :ack12'), packet(':B        :ack1', 'PEST-1'), packet(':B        :?APRSD')])
    const { acks = [], messages } = await newer(store, 'B')
    expect(acks.map(({ from, seqId, kind }) => [from, seqId, kind])).to.deep.equal([
      ['A', '12', 'ack'],
      ['A', '7}8', 'rej'],
    ])
    expect({ messages, history: await history('C'), sent }).to.deep.equal({ messages: [], history: [], sent: [] })
    expect(counts('acks_received', 'messages_not_for_operator', 'messages_blocked')).to.deep.equal([2, 2, 1])
  })

  // Shows: sidecar C17.6, C17.7.
  it('stores a message for its addressee, and for other SSIDs with an anySsid device', async () => {
    const { receive, store, history, counts, sent } = await setUp()
    await store.stations.register(registration('B-7', { ackMessages: true, options: { ...NO_OPTIONS, anySsid: true } }))
    await receive([packet(':B        :one{1'), packet(':B-9      :two{2'), packet(':B-7      :three{3')])
    await receive([packet(':BX       :no{4'), packet(':B-999    :no{5'), packet(':B-9      :ack12')])
    const shown = (await history('B-7')).map(({ to, text }) => `${to} ${text}`)
    expect(shown).to.deep.equal(['B one', 'B-9 two', 'B-7 three'])
    expect((await history('B')).map(({ text }) => String(text))).to.deep.equal(['one'])
    expect(sent).to.deep.equal(['B>APRS,TCPIP*::A        :ack1', 'B-7>APRS,TCPIP*::A        :ack3'])
    expect(counts('messages_stored', 'messages_not_addressed', 'messages_not_for_operator')).to.deep.equal([4, 2, 1])
    expect(counts('acks_throttled', 'acks_unsendable')).to.deep.equal([0, 0])
  })

  it('counts received acks that could not be stored', async () => {
    const { receive, store, counts } = await setUp()
    await store.stations.register({ ...B, options: { ...NO_OPTIONS, wantAcks: true } })
    await store.close()
    await receive([packet(':B        :ack12')])
    expect(counts('acks_received', 'acks_lost')).to.deep.equal([0, 1])
  })

  // Shows: sidecar C13.5.
  it('drops messages of a blocked sender without an ack, even in third-party frames', async () => {
    const { receive, history, counts, sent } = await setUp()
    await receive([
      packet(':B        :hi{1', 'PEST-1'),
      packet('}PEST-1>APRS,GATE*::B        :hi{2', 'GATE'),
      packet(':B        :hi{3', 'PEST'),
      packet('}A>APRS,PEST-1*::B        :hi{4', 'PEST-1'),
    ])
    expect((await history('B')).map(({ seqId }) => seqId)).to.deep.equal(['3', '4'])
    expect(sent.map((line) => line.slice(-4))).to.deep.equal(['ack3', 'ack4'])
    expect(counts('messages_blocked', 'messages_stored')).to.deep.equal([2, 2])
  })

  // Shows: sidecar C1.7, C4.13, C7.14, F1.13.
  it('sends no ack without a verified login; unsent acks do not use up the ack limit', async () => {
    const { receive, upstream, counts, sent } = await setUp()
    upstream.verified = false
    for (let i = 0; i < 5; i++) await receive([packet(':B        :hi{12')])
    expect(counts('acks_unsendable', 'acks_throttled')).to.deep.equal([5, 0])
    upstream.verified = true
    await receive([packet(':B        :hi{12')])
    expect(sent).to.deep.equal(['B>APRS,TCPIP*::A        :ack12'])
    expect(counts('acks_unsendable', 'acks_sent')).to.deep.equal([5, 1])
  })

  it('counts an ack as unsendable if the login is no longer verified', async () => {
    const { receive, upstream, counts } = await setUp((original) => (...call) => {
      upstream.verified = false
      return original(...call)
    })
    await receive([packet(':B        :hi{12')])
    expect(counts('acks_sent', 'acks_unsendable')).to.deep.equal([0, 1])
  })

  it('counts an ack as throttled if the store refuses it because of ack limits', async () => {
    const { receive, counts, sent } = await setUp((original) => async (messages) => original(messages, false))
    await receive([packet(':B        :hi{12'), packet(':C        :hi{12')])
    expect(sent).to.deep.equal([])
    expect(counts('messages_stored', 'acks_throttled')).to.deep.equal([2, 1])
  })

  // Shows: sidecar C8.2.
  it('stores all messages of one socket read in one batch, in order', async () => {
    const { receive, batches, history } = await setUp()
    await receive([packet(':B        :one'), packet('>status'), packet(':C        :two'), packet(':B        :three')])
    expect(batches).to.deep.equal([3])
    expect((await history('B')).map((message) => message.text.toString())).to.deep.equal(['one', 'three'])
  })

  it('does not call the store for a batch of lines without messages', async () => {
    const { receive, batches } = await setUp()
    await receive([packet('>status'), packet(':D        :hi')])
    await receive([])
    expect(batches).to.deep.equal([])
  })

  // Shows: sidecar C4.11, C7.17, C12.2, F1.11, F1.12.
  it('counts dropped packets and messages by reason', async () => {
    const { receive, counts, history, sent } = await setUp()
    const reasons = ['packets_unparsable', 'messages_not_addressed', 'messages_not_for_operator'] as const
    await receive([packet('>status'), 'nonsense', ''])
    expect(counts(...reasons)).to.deep.equal([3, 0, 0])
    await receive([packet(':D        :hi{1'), packet(':D        :ack1')])
    expect(counts(...reasons)).to.deep.equal([3, 2, 0])
    await receive([packet(':B        :ack1'), packet(':B        :rej1'), packet(':B        :?APRSD{4')])
    await receive([packet(':B        :PARM.x', 'B')])
    expect(counts(...reasons)).to.deep.equal([3, 2, 4])
    expect(await history('B')).to.deep.equal([])
    expect(sent).to.deep.equal([])
  })

  // Shows: sidecar C4.29.
  it('acknowledges W2AW-0 as W2AW-0, but stores W2AW as the sender', async () => {
    const { receive, history, sent } = await setUp()
    await receive([packet(':B        :hi{1', 'W2AW-0'), packet(':B        :hi{2', 'W2AW')])
    expect((await history('B')).map(({ from }) => from)).to.deep.equal(['W2AW', 'W2AW'])
    expect(sent).to.deep.equal(['B>APRS,TCPIP*::W2AW-0   :ack1', 'B>APRS,TCPIP*::W2AW     :ack2'])
  })

  // Shows: sidecar 17.1, C4.12.
  it('acknowledges a message only after it is stored', async () => {
    const gate = deferred()
    const { receive, sent } = await setUp((original) => async (...call) => {
      const outcomes = await original(...call)
      await gate.promise
      return outcomes
    })
    const received = receive([packet(':B        :hi{12')])
    await new Promise((resolve) => setImmediate(resolve))
    expect(sent).to.deep.equal([])
    gate.resolve()
    await received
    expect(sent).to.have.length(1)
  })

  it('a message counts in messages_not_addressed if its station has just unregistered', async () => {
    const { receive, store, counts, sent } = await setUp((original) => async (...call) => {
      await store.stations.remove('B')
      return original(...call)
    })
    await receive([packet(':B        :hi{12')])
    expect(sent).to.deep.equal([])
    expect(counts('messages_stored', 'messages_not_addressed')).to.deep.equal([0, 1])
  })

  // Shows: sidecar C8.8.
  it('acknowledges no message while the store fails, and counts the messages as lost', async () => {
    let broken = true
    const { receive, counts, sent } = await setUp((original) => (...call) => {
      return broken ? Promise.reject(new Error('disk full')) : original(...call)
    })
    await receive([packet(':B        :one{1'), packet(':C        :two{2')])
    await receive([packet(':B        :three{3')])
    expect(counts('messages_lost', 'messages_stored')).to.deep.equal([3, 0])
    expect(sent).to.deep.equal([])

    broken = false
    await receive([packet(':B        :one{1')])
    await receive([packet(':B        :three{3')])
    expect(counts('messages_stored')).to.deep.equal([2])
    expect(sent).to.have.length(2)
    expect(logged.map(({ level, event, lost }) => ({ level, event, lost }))).to.deep.equal([
      { level: 'error', event: 'messages-not-stored', lost: undefined },
      { level: 'info', event: 'messages-stored-again', lost: 3 },
    ])
    expect(logged[0]).to.have.nested.property('error.message', 'disk full')

    broken = true
    await receive([packet(':B        :four{4')])
    expect(logged).to.have.length(3)
  })

  // Shows: sidecar C6.2.
  it('counts messages that arrive after the store closed, and warns only once', async () => {
    const { receive, store, counts, sent } = await setUp()
    await store.close()
    for (const seqId of [1, 2]) await receive([packet(`:B        :one{${seqId}`)])
    expect(counts('messages_lost', 'messages_stored')).to.deep.equal([2, 0])
    expect(sent).to.deep.equal([])
    expect(logged.map(({ level, event }) => ({ level, event }))).to.deep.equal([
      { level: 'warn', event: 'messages-not-stored' },
    ])
    expect(logged[0]?.msg).to.include('stopped before')
  })

  // Shows: sidecar C7.18.
  it('the receiver never throws, and counts each line exactly once, for any lines', async () => {
    const { receive, counts } = await setUp()
    const fragments = fc.constantFrom(
      'A>APRS:',
      ':B        :',
      ':C:',
      '}',
      'hi',
      '{1',
      'ack1',
      '?PING?',
      ' ',
      '\0',
      'é',
    )
    const lines = fc.array(
      fc.oneof(
        fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes).toString('latin1')),
        fc.array(fragments, { maxLength: 6 }).map((parts) => latin1(parts.join(''))),
      ),
      { maxLength: 20 },
    )
    let handed = 0
    await fc.assert(
      fc.asyncProperty(lines, async (lines) => {
        await receive(lines)
        handed += lines.length
        const outcomes = counts(
          'packets_unparsable',
          'messages_not_addressed',
          'messages_not_for_operator',
          'messages_stored',
          'messages_duplicate',
        )
        expect(outcomes.reduce((sum, count) => sum + count)).to.equal(handed)
      }),
    )
  })
})
