import { expect } from 'chai'
import { withCleanAuthLog } from '../../../plugin/host/auth-log.ts'
import type { AuthLogEntry, Host } from '../../../plugin/host/port.ts'

const entry: AuthLogEntry = {
  level: 'info',
  event: 'login',
  message: 'Signed in.\r\nforged line',
  domain: '',
  fields: { joined: ['ops\u202e', 'a\nb'], user: '~oidc:x\u0007', count: 3 },
}

// These tests use only the log of the host.
const hostWith = (authLog: Host['authLog']) => ({ authLog, domainOf: () => 'd' }) as unknown as Host

describe('authentication log of a host', () => {
  it('removes line breaks, control and direction characters from log entries', () => {
    const entries: AuthLogEntry[] = []
    withCleanAuthLog(hostWith((line) => entries.push(line))).authLog(entry)
    expect(entries).to.deep.equal([
      {
        ...entry,
        message: 'Signed in. forged line',
        fields: { joined: ['ops ', 'a b'], user: '~oidc:x ', count: 3 },
      },
    ])
  })

  it("a login continues if the host's log throws", () => {
    const host = withCleanAuthLog(
      hostWith(() => {
        throw new Error('disk full')
      }),
    )
    expect(() => host.authLog(entry)).to.not.throw()
  })

  it("wrapping the host's log does not change `this` in the host's other methods", () => {
    class Server {
      readonly #key = 'customer'
      readonly authLog = () => undefined
      domainOf() {
        return this.#key
      }
    }
    const { domainOf } = withCleanAuthLog(new Server() as unknown as Host)
    expect(domainOf?.({} as never)).to.equal('customer')
  })
})
