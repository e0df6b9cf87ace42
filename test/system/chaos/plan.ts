import fc from 'fast-check'
import type { PhoneCall } from './phones.ts'

/** A fault of the sidecar or of APRS-IS. Lengths count the messages that are sent meanwhile. */
export type Act =
  /** `after`: the kill follows such an event at once, so that it falls between any two processing steps. */
  | { readonly kind: 'kill'; readonly signal: 'SIGKILL' | 'SIGTERM'; readonly after: Moment; readonly down: number }
  | { readonly kind: 'drop' }
  | { readonly kind: 'restart' | 'refuse' | 'unverified'; readonly down: number }
  | { readonly kind: 'stall'; readonly down: number; readonly drop: boolean }
  | { readonly kind: 'newcomer' }
export type Moment = 'packet' | 'ack' | 'sync' | 'push'

export const GATEWAYS = ['fcm', 'apns', 'webpush'] as const
export type Gateway = (typeof GATEWAYS)[number]

/** A fault of a push gateway. */
export interface GatewayAct {
  readonly kind: 'cut' | 'errors' | 'hang' | 'lost' | 'farewell'
  readonly times: number
  readonly down: number
}

export interface Plan {
  readonly acts: readonly (Act & { readonly rest: number })[]
  readonly gatewayActs: Readonly<Record<Gateway, readonly (GatewayAct & { readonly rest: number })[]>>
  readonly messages: readonly MessagePlan[]
  /** Settings of the clock for each process of the sidecar, in turn. */
  readonly clocks: readonly ClockPlan[]
  /** The next requests, with their phones. */
  readonly calls: readonly { readonly phone: number; readonly how: PhoneCall }[]
}

export interface MessagePlan {
  readonly from: number
  /** Index of a station among those registered by then. */
  readonly to: number
  readonly text: number
  readonly numbered: boolean
  readonly thirdParty: boolean
  /** How many further messages follow immediately. */
  readonly burst: number
}

export interface ClockPlan {
  /**
   * How far the sidecar's clock is behind the machine's. It is never ahead, because push gateways check when
   * credentials were issued.
   */
  readonly behindMs: number
  /** Value of `behindMs` two seconds after the start. */
  readonly laterBehindMs: number
}

const phoneCall = fc.constantFrom<PhoneCall>('sync', 'sync', 'sync', 'launch', 'heartbeat', 'avatars')
const moment = fc.constantFrom<Moment>('packet', 'ack', 'ack', 'sync', 'push')
const down = fc.integer({ min: 5, max: 60 })
const kill = (signal: 'SIGKILL' | 'SIGTERM') =>
  fc.record({ kind: fc.constant('kill'), signal: fc.constant(signal), after: moment, down })

/** All faults of a plan, in random order. */
const acts = fc
  .tuple(
    kill('SIGKILL'),
    kill('SIGKILL'),
    kill('SIGKILL'),
    kill('SIGKILL'),
    kill('SIGKILL'),
    kill('SIGKILL'),
    kill('SIGTERM'),
    kill('SIGTERM'),
    kill('SIGTERM'),
    fc.record({ kind: fc.constant('drop') }),
    fc.record({ kind: fc.constant('restart'), down }),
    fc.record({ kind: fc.constant('restart'), down }),
    fc.record({ kind: fc.constant('refuse'), down }),
    fc.record({ kind: fc.constant('unverified'), down }),
    fc.record({ kind: fc.constant('stall'), down, drop: fc.boolean() }),
    fc.record({ kind: fc.constant('newcomer') }),
    fc.record({ kind: fc.constant('newcomer') }),
    fc.record({ kind: fc.constant('newcomer') }),
  )
  .chain((all) => fc.shuffledSubarray(all as unknown as Act[], { minLength: all.length }))

const gatewayAct = fc.record({
  kind: fc.constantFrom<GatewayAct['kind']>('cut', 'errors', 'errors', 'hang', 'lost', 'farewell'),
  times: fc.integer({ min: 1, max: 10 }),
  down: fc.integer({ min: 10, max: 120 }),
  rest: fc.integer({ min: 10, max: 60 }),
})

const gatewayActs = fc.array(gatewayAct, { minLength: 60, maxLength: 60 })

const message = fc.record({
  from: fc.nat(11),
  to: fc.nat(1000),
  text: fc.nat(1000),
  numbered: fc.integer({ min: 0, max: 9 }).map((die) => die > 0),
  thirdParty: fc.integer({ min: 0, max: 9 }).map((die) => die === 0),
  burst: fc.integer({ min: 0, max: 99 }).map((die) => (die < 3 ? 20 : die < 20 ? 3 : 0)),
})

const behindMs = fc.nat(60_000)

const plan: fc.Arbitrary<Plan> = fc.record({
  acts: acts.chain((list) =>
    fc
      .array(fc.integer({ min: 30, max: 120 }), { minLength: list.length, maxLength: list.length })
      .map((holds) => list.map((act, index) => ({ ...act, rest: holds[index] ?? 0 }))),
  ),
  gatewayActs: fc.record({ fcm: gatewayActs, apns: gatewayActs, webpush: gatewayActs }),
  messages: fc.array(message, { minLength: 4000, maxLength: 4000 }),
  clocks: fc.array(fc.record({ behindMs, laterBehindMs: behindMs }), { minLength: 20, maxLength: 20 }),
  calls: fc.array(fc.record({ phone: fc.nat(1000), how: phoneCall }), { minLength: 4000, maxLength: 4000 }),
})

/** The same for the same seed. */
export function planOf(seed: number): Plan {
  const [only] = fc.sample(plan, { seed, numRuns: 1 })
  if (!only) throw new Error('fast-check made no plan')
  return only
}
