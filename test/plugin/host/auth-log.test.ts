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

// Only the log is looked at here.
const hostWith = (authLog: Host['authLog']) => ({ authLog, domainOf: () => 'd' }) as unknown as Host

describe('the authentication log of a host', () => {
  it('gets no line break, control or direction character, not even inside a list', () => {
    const seen: AuthLogEntry[] = []
    withCleanAuthLog(hostWith((one) => seen.push(one))).authLog(entry)
    expect(seen).to.deep.equal([
      {
        ...entry,
        message: 'Signed in. forged line',
        fields: { joined: ['ops ', 'a b'], user: '~oidc:x ', count: 3 },
      },
    ])
  })

  it('ends no login by throwing', () => {
    const host = withCleanAuthLog(
      hostWith(() => {
        throw new Error('disk full')
      }),
    )
    expect(() => host.authLog(entry)).to.not.throw()
  })

  it('leaves the rest of the host as it is, methods bound', () => {
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
