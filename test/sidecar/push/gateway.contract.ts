import { once } from 'node:events'
import { createServer } from 'node:net'
import { expect } from 'chai'
import type { PushGateway, PushOutcome } from '../../../sidecar/push/gateway/gateway.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { onLoopback } from '../../support/on-loopback.ts'
import { recordedLog } from '../../support/recorded-log.ts'
import { NOTIFICATION, type Subject } from './services.ts'

export const ACCEPTED: PushOutcome = { kind: 'accepted' }

/** The part of a push service that the contract uses. */
interface Service<Fault> {
  readonly attempts: number
  waitForAttempts(count: number): Promise<void>
  waitForDisconnects(count: number): Promise<void>
  fail(fault: Fault | 'hang', times?: number): void
  close(): Promise<void>
}

/** Returns a gateway with its own push service for each test. Call it inside a `describe`. */
export function gatewaySetup<S extends { close(): Promise<void> }>(start: () => Promise<Subject<S>>) {
  const { log, lines } = recordedLog()
  let clock: FakeClock
  let subject: Subject<S>
  let gateway: PushGateway
  const parts: { close(): Promise<unknown> }[] = []
  /** Closes `part` after the test, before the gateway. */
  const closing = <Part extends { close(): Promise<unknown> }>(part: Part): Part => {
    parts.push(part)
    return part
  }
  beforeEach(async () => {
    clock = new FakeClock(Date.now())
    subject = await start()
    closing(subject.service)
    gateway = closing(subject.open(log, clock))
  })
  afterEach(async () => {
    for (const part of parts.splice(0).reverse()) await part.close()
  })
  return {
    log,
    lines,
    get clock() {
      return clock
    },
    get subject() {
      return subject
    },
    get service() {
      return subject.service
    },
    get gateway() {
      return gateway
    },
    send: (token = subject.token, notification = NOTIFICATION) => gateway.send(token, notification),
    /** Another gateway to the same service. */
    open: (caFile: string | null) => closing(subject.open(log, clock, { caFile })),
    closing,
  }
}

/** An answer of the service with its outcome. A text is the whole reason; an expression matches a part. */
type Answer<Fault> = readonly [
  name: string,
  fault: Fault,
  kind: PushOutcome['kind'],
  words: string | RegExp,
  afterMs?: number | undefined,
]

interface GatewayRules<Fault> {
  readonly answers: readonly Answer<Fault>[]
  /** The reason if no server listens. */
  readonly unreachable: RegExp
  /** Answers that are logged, and texts that look like a token. */
  leaks(token: string): { readonly answers: readonly Fault[]; readonly tokens: readonly string[] }
  /** Texts that must not appear anywhere. */
  secrets(): Promise<readonly string[]> | readonly string[]
  /** The part of a token that the log shows. */
  readonly shownOf?: (token: string) => string
}

/** The contract of every gateway, with any vendor's client. Call it inside a `describe`, after its set-up. */
export function gatewayContract<Fault, S extends Service<Fault>>(
  at: ReturnType<typeof gatewaySetup<S>>,
  rules: GatewayRules<Fault>,
): void {
  const { answers, unreachable, leaks, secrets, shownOf } = rules
  const reasonOf = (outcome: PushOutcome) => ('reason' in outcome ? outcome.reason : '')

  // Shows: sidecar 20.1, C9.5, C9.6, C9.8, C9.12, C9.18, C14.5, C14.6, C14.7, C14.15.
  for (const [name, fault, kind, words, afterMs] of answers)
    it(`${name}, with one request`, async () => {
      at.service.fail(fault)
      const outcome = await at.send()
      if (typeof words === 'string')
        expect(outcome).to.deep.equal({ kind, reason: words, ...(afterMs !== undefined && { afterMs }) })
      expect(outcome).to.include({ kind }).and.not.have.property('unasked')
      expect(reasonOf(outcome)).to.match(typeof words === 'string' ? /./ : words)
      expect(at.service.attempts).to.equal(1)
      expect(await at.send()).to.deep.equal(ACCEPTED)
    })

  // Shows: sidecar C9.9.
  it('tries a notification later if no push server listens', async () => {
    await at.send()
    await at.service.close()
    const outcome = await at.send()
    expect(outcome).to.include({ kind: 'try_later' })
    expect(reasonOf(outcome)).to.match(unreachable)
  })

  // Shows: sidecar C1.3.
  it("tries a notification later if the push server's certificate cannot be verified", async () => {
    const outcome = await at.open(null).send(at.subject.token, NOTIFICATION)
    expect(outcome).to.include({ kind: 'try_later' })
    expect(reasonOf(outcome)).to.include('UNABLE_TO_VERIFY_LEAF_SIGNATURE')
  })

  // Shows: sidecar C9.22.
  it('verifies the push server even if NODE_TLS_REJECT_UNAUTHORIZED is 0', async () => {
    const earlier = process.env.NODE_TLS_REJECT_UNAUTHORIZED
    process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'
    try {
      const outcome = await at.open(null).send(at.subject.token, NOTIFICATION)
      expect(reasonOf(outcome)).to.include('UNABLE_TO_VERIFY_LEAF_SIGNATURE')
      expect(at.service.attempts).to.equal(0)
    } finally {
      if (earlier === undefined) delete process.env.NODE_TLS_REJECT_UNAUTHORIZED
      else process.env.NODE_TLS_REJECT_UNAUTHORIZED = earlier
    }
  })

  // Shows: sidecar C9.11, C14.10.
  it('ends a hanging push call and its connection after 10 s, and sends the next push', async () => {
    await at.send()
    at.service.fail('hang')
    const sending = at.send()
    await at.service.waitForAttempts(2)
    await at.clock.advance(9_999)
    expect(await Promise.race([sending, 'waiting'])).to.equal('waiting')
    await at.clock.advance(1)
    expect(await sending).to.deep.equal({ kind: 'try_later', reason: 'no answer within 10 s' })
    await at.service.waitForDisconnects(1)
    expect(await at.send()).to.deep.equal(ACCEPTED)
    expect(at.service.attempts).to.equal(3)
    expect(at.clock.pending).to.equal(0)
  })

  it('ends a push call after 10 s if the server accepts the connection but not TLS', async () => {
    const silent = createServer((socket) => socket.resume())
    const connected = once(silent, 'connection')
    const { port, close } = await onLoopback(silent)
    const { changes, token = at.subject.token } = at.subject.elsewhere(port)
    const gateway = at.subject.open(at.log, at.clock, changes)
    const sending = gateway.send(token, NOTIFICATION)
    await connected
    await at.clock.advance(10_000)
    expect(await sending).to.deep.equal({ kind: 'try_later', reason: 'no answer within 10 s' })
    // Resolves only once the gateway has closed its connection, which it does even before `gateway.close()`.
    await close()
    await gateway.close()
  })

  it('closing a push gateway ends pending calls, refuses new ones, and is idempotent', async () => {
    at.service.fail('hang')
    const sending = at.send()
    await at.service.waitForAttempts(1)
    await Promise.all([at.gateway.close(), at.gateway.close()])
    const closed = { kind: 'try_later', reason: 'the gateway is closed' }
    expect(await sending).to.deep.equal(closed)
    expect(await at.send()).to.deep.equal(closed)
    await at.service.waitForDisconnects(1)
    expect(at.service.attempts).to.equal(1)
  })

  // Shows: sidecar C6.4, C14.14.
  it('a push gateway logs and reports neither tokens nor keys', async () => {
    const { token } = at.subject
    const leaking = leaks(token)
    for (const fault of leaking.answers) at.service.fail(fault)
    const outcomes = []
    for (const item of [...leaking.answers.map(() => token), ...leaking.tokens]) outcomes.push(await at.send(item))
    expect(at.lines).to.have.length.above(1)
    const written = JSON.stringify([outcomes, at.lines])
    for (const secret of [token, ...leaking.tokens, ...(await secrets())]) expect(written).not.to.include(secret)
    expect(written).to.include(shownOf?.(token) ?? '')
  })

  it("names the push gateway's CA file if it is missing", () => {
    expect(() => at.open('/nowhere/ca.pem')).to.throw('/nowhere/ca.pem')
  })
}
