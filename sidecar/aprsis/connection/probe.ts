import type { Clock } from '../../clock.ts'
import type { AprsisSettings } from '../../config/settings.ts'
import { createMetrics } from '../../metrics.ts'
import { loginCallCount, loginCalls } from '../listeners/login-calls.ts'
import { openSession } from './session.ts'

/** What one login showed. */
export interface ProbeOutcome {
  /** The call that it was made with. */
  readonly call: string
  /** The server's call and whether it took the passcode; undefined when there was no login. */
  readonly login: { readonly server: string; readonly verified: boolean } | undefined
  /** The server confirmed a change of the filter. */
  readonly filtered: boolean
  /** Why it ended without having shown that. */
  readonly reason: string
}

/**
 * Logs in once, changes the filter once, and leaves; takes at most 40 s. By another SSID where the call has room for one, the one
 * that further connections of a sidecar come to last: a server drops the older of two logins with one call, and a sidecar may be at work.
 */
export function probeUpstream(settings: AprsisSettings, clock: Clock): Promise<ProbeOutcome> {
  const { host, port, callsign, passcode } = settings
  const others = loginCallCount(callsign) > 1 ? loginCalls(callsign).filter((one) => one !== callsign) : []
  const call = others.at(-1) ?? callsign
  // Nothing that anybody sends: both ask for what the login gets anyway.
  const [first, second] = [`g/${call}`, `g/${call}/${call}-0`]
  return new Promise((resolve) => {
    let login: ProbeOutcome['login']
    let changing = false
    let filtered = false
    let failure = ''
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
      onFilter(state) {
        // The first one came with the login, and is taken or closes the connection.
        if (changing) {
          filtered = state === 'confirmed'
          failure = 'the server did not confirm a filter, asked twice'
          session.end()
          return
        }
        changing = true
        session.setFilter(second)
      },
      onLines() {},
      onEnd: (reason) => resolve({ call, login, filtered, reason: failure || reason }),
    })
  })
}
