import { type ProbeOutcome, probeUpstream } from '../../aprsis/connection/probe.ts'
import { systemClock } from '../../clock.ts'
import type { Settings } from '../../config/settings.ts'
import type { Log } from '../../log.ts'
import type { Platform } from '../../messages/store.ts'
import type { PushGateway, PushOutcome } from '../../push/gateway/gateway.ts'
import { openGateways } from '../../push/open-gateways.ts'
import { trialKeys } from '../../push/web-push/vapid-file.ts'
import { checkPublic } from './check-public.ts'
import { fail, ok, type Verdict } from './verdict.ts'

const SILENT: Log = { debug() {}, info() {}, warn() {}, error() {} }

/**
 * Asks APRS-IS and the push gateways by the clients that a sidecar uses, without a word to anybody's radio or phone.
 * Never rejects; takes at most 40 s.
 *
 * @param address that phones call, where that is to be tried
 */
export async function checkLive(settings: Settings, address?: string): Promise<readonly Verdict[]> {
  const publicly = address === undefined ? [] : checkPublic(settings.listen, address)
  const verdicts = await Promise.all([askUpstream(settings), askGateways(settings), publicly])
  return verdicts.flat()
}

async function askUpstream({ aprsis }: Settings): Promise<readonly Verdict[]> {
  const { callsign: call, login, filter, reason } = await probeUpstream(aprsis, systemClock)
  const at = `${aprsis.host}:${aprsis.port}`
  if (!login)
    return [
      fail(`APRS-IS login at ${at}: ${reason}. Check aprsis.host and aprsis.port, and that this machine reaches it.`),
    ]
  return [
    loginVerdict(`APRS-IS login as ${call} at ${login.server}`, login.verified, aprsis.passcode),
    filterVerdict(`APRS-IS filter at ${login.server}`, filter, reason),
  ]
}

function filterVerdict(what: string, filter: ProbeOutcome['filter'], reason: string): Verdict {
  if (filter === 'confirmed') return ok(`${what}: confirmed`)
  const port = 'Check that aprsis.port is one with client-defined filters, usually 14580.'
  if (filter === undefined) return fail(`${what}: ${reason}. ${port}`)
  return {
    verdict: 'warn',
    text: `${what}: the server answers no change of a filter. The sidecar logs in again after each change, so that messages to new stations arrive. ${port}`,
  }
}

function loginVerdict(what: string, verified: boolean, passcode: number): Verdict {
  if (verified) return ok(`${what}: verified`)
  if (passcode === -1)
    return { verdict: 'warn', text: `${what}: unverified, as aprsis.passcode says: acks cannot be sent` }
  return fail(`${what}: unverified. Check that aprsis.passcode is the one of aprsis.callsign.`)
}

const NAMES: Readonly<Record<Platform, string>> = { android: 'FCM', ios: 'APNs', webpush: 'Web Push' }

async function askGateways({ push }: Settings): Promise<readonly Verdict[]> {
  const gateways = openGateways(push, SILENT, systemClock, trialKeys(push.webpush))
  try {
    return await Promise.all(
      (Object.keys(NAMES) as Platform[]).map((platform) => askGateway(NAMES[platform], gateways[platform])),
    )
  } finally {
    await Promise.all(Object.values(gateways).map((gateway) => gateway.close()))
  }
}

async function askGateway(name: string, gateway: PushGateway | undefined): Promise<Verdict> {
  if (!gateway) return { verdict: 'warn', text: `${name}: off, not configured` }
  const outcome: PushOutcome | undefined = await gateway.verify?.()
  if (!outcome) return { verdict: 'warn', text: `${name}: nothing can be asked without a phone` }
  if (outcome.kind === 'accepted' || outcome.kind === 'token_gone') return ok(`${name}: takes our credentials`)
  return fail(`${name}: ${outcome.reason}`)
}
