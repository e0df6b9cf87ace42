import type { Clock } from '../../clock.ts'
import type { AprsisSettings } from '../../config/settings.ts'
import { createMetrics } from '../../metrics.ts'
import { loginCallsignCount, loginCallsigns } from '../listeners/login-callsigns.ts'
import { connectTcp } from './connect-tcp.ts'
import { Session } from './session.ts'

/** The result of a test login. */
export interface ProbeOutcome {
  /** The callsign of the test login. */
  readonly callsign: string
  /** The server's name, and whether the server accepted the passcode; undefined if the login failed. */
  readonly login: { readonly server: string; readonly verified: boolean } | undefined
  /** Whether the server answered the change of the filter; undefined if the session ended earlier. */
  readonly filter: 'confirmed' | 'unanswered' | undefined
  /** Why the session ended. */
  readonly reason: string
}

/**
 * Logs in, changes the filter, and logs out, in at most 40 s. Uses the SSID that a running sidecar would use last,
 * because a server drops the older of two logins with one callsign.
 */
export function probeUpstream(settings: AprsisSettings, clock: Clock): Promise<ProbeOutcome> {
  const { host, port, callsign: configured, passcode } = settings
  const otherCallsigns =
    loginCallsignCount(configured) > 1 ? loginCallsigns(configured).filter((callsign) => callsign !== configured) : []
  const callsign = otherCallsigns.at(-1) ?? configured
  // The login line has the first filter, and `#filter` sets the second. Both request only messages to the login
  // callsign, which the server sends anyway.
  const [first, second] = [`g/${callsign}`, `g/${callsign}/${callsign}-0`]
  return new Promise((resolve) => {
    let login: ProbeOutcome['login']
    let filter: ProbeOutcome['filter']
    const session = new Session({
      connect: connectTcp,
      host,
      port,
      callsign,
      passcode,
      filter: first,
      clock,
      metrics: createMetrics(),
      lines: { take() {} },
      mayLogIn: () => true,
      isSilent: () => false,
      onLogin(answer) {
        login = answer
      },
      onFilter(outcome) {
        if (outcome === 'set_by_login') {
          session.setFilter(second)
          return
        }
        filter = outcome
        session.end()
      },
      onEnd: (reason) => resolve({ callsign, login, filter, reason }),
    })
  })
}
