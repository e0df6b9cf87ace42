import type { Clock, Timer } from '../../clock.ts'
import type { Log } from '../../log.ts'
import type { Platform } from '../../messages/store.ts'
import type { Notification, PushGateway, PushOutcome } from '../gateway/gateway.ts'
import { type GatewayAnswers, recordAnswers } from './answers.ts'
import { SUSPICIOUS_KILLS, TokenKills } from './token-kills.ts'

/**
 * How many notifications are in flight for one gateway at a time; further devices wait for their turn. FCM gains
 * nothing by more; 5,000 at once to an APNs that answered in 100 ms took 7 to 11 s by 100 and 4 to 6 s by 500, on a
 * machine with other work.
 */
export const MAX_IN_FLIGHT: Readonly<Record<Platform, number>> = { android: 100, ios: 500, webpush: 500 }

/**
 * A lane that was full has room again once so many of its places are free, or so many milliseconds after the first of
 * them: what is claimed and sent together is mostly answered together, and costs a third less CPU than one by one. A
 * quarter of the 500 places of APNs would be free too seldom: a fifth fewer pushes a second.
 */
const FREE_PLACES = 25
const GATHER_MS = 10

const WARN_EVERY_MS = 60_000

/** What to check if a gateway calls every token dead. */
const REMEDIES: Readonly<Record<Platform, string>> = {
  android: 'Check that push.fcm.serviceAccountFile is of the Firebase project that the app is built with.',
  ios: 'Check push.apns.production (false for builds from Xcode) and push.apns.topic (the bundle id of the app).',
  webpush: 'Check that the VAPID keys are those that the app subscribes with.',
}

/** The way to the phones of one platform. */
export interface Lane {
  readonly platform: Platform
  /**
   * For how many more devices there is room: from the last place that is taken on there is none, until it is worth a
   * claim.
   */
  room(): number
  /** A device takes a place, until {@link leave}. */
  enter(): void
  leave(): void
  /**
   * Sends by the gateway, and remembers and logs how that fares. Never rejects. Absent, as what follows, where no
   * gateway is configured.
   */
  send?(pushToken: string, notification: Notification): Promise<PushOutcome>
  answers?(): GatewayAnswers & { readonly tokensDoubted: boolean }
  close?(): Promise<void>
}

interface LaneParts {
  readonly platform: Platform
  readonly gateway: PushGateway | undefined
  /** There is room for one more. */
  readonly onRoom: () => void
  readonly clock: Clock
  readonly log: Log
}

export function openLane({ platform, gateway, onRoom, clock, log }: LaneParts): Lane {
  const answers = recordAnswers(clock)
  const most = MAX_IN_FLIGHT[platform]
  let inFlight = 0
  let wasFull = false
  let gathering: Timer | undefined
  /** In elapsed time. */
  let warnedAt = Number.NEGATIVE_INFINITY
  /** Why the gateway refuses us; undefined while it does not. */
  let unauthorized: string | undefined
  const kills = new TokenKills()
  let closing = false

  /** Once a minute at most: with a gateway down, every device's try fails. */
  function warnFailing(reason: string): void {
    if (closing || clock.elapsed() - warnedAt < WARN_EVERY_MS) return
    warnedAt = clock.elapsed()
    log.warn('push-gateway-failing', 'A push gateway fails; notifications are tried again.', { platform, reason })
  }

  /**
   * One line when a gateway begins to refuse us or finds another reason, and one when that is over, however long it
   * lasts.
   */
  function noteStanding(reason: string | undefined): void {
    if (reason === unauthorized) return
    unauthorized = reason
    const fields = { platform, reason }
    if (reason === undefined) log.info('push-authorized', 'A push gateway takes notifications again.', { platform })
    else
      log.error('push-unauthorized', 'A push gateway refuses the sidecar; notifications wait for the remedy.', fields)
  }

  function noteKills(outcome: PushOutcome): void {
    const doubted = kills.doubts
    kills.note(outcome)
    if (kills.doubts === doubted) return
    if (kills.doubts)
      log.error(
        'push-tokens-doubted',
        `The gateway called ${SUSPICIOUS_KILLS} tokens in a row dead: it is probably of another app. No more tokens are given up; notifications wait. ${REMEDIES[platform]}`,
        { platform },
      )
    else
      log.info('push-tokens-trusted', 'The gateway accepts notifications again; dead tokens are given up again.', {
        platform,
      })
  }

  function makeRoom(): void {
    gathering?.cancel()
    gathering = undefined
    wasFull = false
    onRoom()
  }

  const places = {
    platform,
    room: () => (wasFull ? 0 : most - inFlight),
    enter() {
      inFlight += 1
      wasFull ||= inFlight >= most
    },
    leave() {
      inFlight -= 1
      if (!wasFull || most - inFlight >= FREE_PLACES) makeRoom()
      else gathering ??= clock.after(GATHER_MS, makeRoom)
    },
  }
  function hear(outcome: PushOutcome): void {
    // Whoever registers what cannot be a token could say by it that a gateway which refuses us has let us in.
    if ('unasked' in outcome) return
    answers.note(outcome)
    noteKills(outcome)
    // Of a gateway that cannot be asked nothing is known.
    if (outcome.kind === 'try_later') warnFailing(outcome.reason)
    else noteStanding(outcome.kind === 'unauthorized' ? outcome.reason : undefined)
  }

  if (!gateway) return places
  return {
    ...places,
    async send(pushToken, notification) {
      const outcome = await gateway.send(pushToken, notification)
      const isDoubted = kills.doubts
      hear(outcome)
      if (outcome.kind !== 'token_gone' || 'unasked' in outcome || !isDoubted) return outcome
      return { kind: 'unauthorized', reason: `${outcome.reason}; said of every token. ${REMEDIES[platform]}` }
    },
    answers: () => ({ ...answers.read(), tokensDoubted: kills.doubts }),
    close() {
      closing = true
      return gateway.close()
    },
  }
}
