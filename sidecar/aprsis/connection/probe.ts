import type { Clock } from '../../clock.ts'
import type { AprsisSettings } from '../../config/settings.ts'
import { createMetrics } from '../../metrics.ts'
import { loginCallsignCount, loginCallsigns } from '../listeners/login-callsigns.ts'
import { openSession } from './session.ts'

/** What one login showed. */
export interface ProbeOutcome {
  /** The call that it was made with. */
  readonly callsign: string
  /** The server's call and whether it took the passcode; undefined when there was no login. */
  readonly login: { readonly server: string; readonly verified: boolean } | undefined
  /** The server's answer to a change of the filter; undefined if it came to none. */
  readonly filter: 'confirmed' | 'unanswered' | undefined
  /** Why it ended without having shown that. */
  readonly reason: string
}

/**
 * Logs in once, changes the filter once, and leaves; takes at most 40 s. By another SSID where the call has room for
 * one, the one that further connections of a sidecar come to last: a server drops the older of two logins with one
 * call, and a sidecar may be at work.
 */
export function probeUpstream(settings: AprsisSettings, clock: Clock): Promise<ProbeOutcome> {
  const { host, port, callsign, passcode } = settings
  const others = loginCallsignCount(callsign) > 1 ? loginCallsigns(callsign).filter((one) => one !== callsign) : []
  const call = others.at(-1) ?? callsign
  // Nothing that anybody sends: both ask for what the login gets anyway.
  const [first, second] = [`g/${call}`, `g/${call}/${call}-0`]
  return new Promise((resolve) => {
    let login: ProbeOutcome['login']
    let filter: ProbeOutcome['filter']
    const session = openSession({
      host,
      port,
      call,
      passcode,
      filter: first,
      clock,
      metrics: createMetrics(),
      mayLogIn: () => true,
      onLogin(answer) {
        login = answer
      },
      isSilent: () => false,
      onFilter(outcome) {
        if (outcome === 'set_by_login') {
          session.setFilter(second)
          return
        }
        filter = outcome
        session.end()
      },
      onLines() {},
      onEnd: (reason) => resolve({ callsign: call, login, filter, reason }),
    })
  })
}
