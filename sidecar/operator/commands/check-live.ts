import { type ProbeOutcome, probeUpstream } from '../../aprsis/connection/probe.ts'
import { systemClock } from '../../clock.ts'
import type { Settings } from '../../config/settings.ts'
import { SILENT_LOG } from '../../log.ts'
import type { Platform } from '../../messages/store.ts'
import { apnsServer } from '../../push/apns/apns.ts'
import { fcmServers } from '../../push/fcm/fcm.ts'
import type { PushGateway, PushOutcome } from '../../push/gateway/gateway.ts'
import { openGateways } from '../../push/open-gateways.ts'
import { trialKeys } from '../../push/web-push/vapid-file.ts'
import { checkPublic } from './check-public.ts'
import { fail, ok, type Verdict } from './verdict.ts'

/**
 * Tests the login to APRS-IS and the push gateways, without sending to radios or phones. Never rejects; takes at most
 * 40 s. With `address`, also checks the API at that public address.
 */
export async function checkLive(settings: Settings, address?: string): Promise<readonly Verdict[]> {
  const publicVerdicts = address === undefined ? [] : checkPublic(settings.listen, address)
  const verdicts = await Promise.all([askUpstream(settings), askGateways(settings), publicVerdicts])
  return verdicts.flat()
}

async function askUpstream({ aprsis }: Settings): Promise<readonly Verdict[]> {
  const { callsign, login, filter, reason } = await probeUpstream(aprsis, systemClock)
  const server = `${aprsis.host}:${aprsis.port}`
  if (!login)
    return [
      fail(
        `APRS-IS login at ${server}: ${reason}. Check aprsis.host and aprsis.port, and that this machine can reach the server.`,
      ),
    ]
  return [
    loginVerdict(`APRS-IS login as ${callsign} at ${login.server}`, login.verified, aprsis.passcode),
    filterVerdict(`APRS-IS filter at ${login.server}`, filter, reason),
  ]
}

function filterVerdict(subject: string, filter: ProbeOutcome['filter'], reason: string): Verdict {
  if (filter === 'confirmed') return ok(`${subject}: confirmed`)
  const port = 'Check that aprsis.port is the port for client-defined filters, usually 14580.'
  if (filter === undefined) return fail(`${subject}: ${reason}. ${port}`)
  return {
    verdict: 'warn',
    text: `${subject}: the server does not answer filter changes. The sidecar logs in again after each change, so that messages to new stations arrive. ${port}`,
  }
}

function loginVerdict(subject: string, verified: boolean, passcode: number): Verdict {
  if (verified) return ok(`${subject}: verified`)
  if (passcode === -1)
    return { verdict: 'warn', text: `${subject}: unverified, because aprsis.passcode is -1. Acks cannot be sent` }
  return fail(`${subject}: unverified. Check that aprsis.passcode belongs to aprsis.callsign.`)
}

const NAMES: Readonly<Record<Platform, string>> = { android: 'FCM', ios: 'APNs', webpush: 'Web Push' }

async function askGateways({ push }: Settings): Promise<readonly Verdict[]> {
  const serversOf: Readonly<Record<Platform, readonly string[]>> = {
    android: fcmServers(push.fcm),
    ios: [apnsServer(push.apns)],
    webpush: [],
  }
  const gateways = openGateways(push, SILENT_LOG, systemClock, trialKeys(push.webpush))
  try {
    return await Promise.all(
      (Object.keys(NAMES) as Platform[]).map((platform) =>
        askGateway(NAMES[platform], gateways[platform], serversOf[platform]),
      ),
    )
  } finally {
    await Promise.all(Object.values(gateways).map((gateway) => gateway.close()))
  }
}

/**
 * Matches the reason of a failed connection, which ends with an error code of the system such as `EAI_AGAIN`, or
 * without a code if the server closed the connection.
 */
const CONNECTION_FAILED = /\(E[A-Z_]+\)$|was lost$|cannot be reached$/

async function askGateway(
  name: string,
  gateway: PushGateway | undefined,
  servers: readonly string[],
): Promise<Verdict> {
  if (!gateway) return { verdict: 'warn', text: `${name}: off, not configured` }
  const outcome: PushOutcome | undefined = await gateway.verify?.()
  if (!outcome)
    return {
      verdict: 'warn',
      text: `${name}: not checked, because that needs a phone. Send a test notification with --notify.`,
    }
  if (outcome.kind === 'accepted' || outcome.kind === 'token_gone') return ok(`${name}: accepts the credentials`)
  const remedy = CONNECTION_FAILED.test(outcome.reason)
    ? `. Check that this machine can resolve and reach ${servers.join(' and ')}.`
    : ''
  return fail(`${name}: ${outcome.reason}${remedy}`)
}
