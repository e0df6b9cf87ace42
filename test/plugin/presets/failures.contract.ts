import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import type { VendorApi } from '../../../fixtures/idp/vendors/vendor-api.ts'
import type { Memberships } from '../../../plugin/login/groups/memberships.ts'
import type { VendorFetch } from '../../../plugin/presets/vendor-api.ts'
import { reasonOf, TOKEN, vendorFetch } from './vendor-fetch.ts'

/** A preset before its vendor's API, and a user who is in some groups, so many that they fill three pages. */
export interface Subject {
  readonly api: VendorApi<never>
  ask(fetch: VendorFetch, accessToken?: string | null, totalMs?: number): Promise<Memberships>
  /** Whether a page that was answered so is asked for in another way once more. Default: never. */
  asksAgainAfter?(status: number, after: number): boolean
  /** Puts the user into this many groups; each fills a page. */
  fillPages(pages: number): void
}

/** What holds for every preset that asks a vendor's API for groups: what it could not learn in full it does not know at all. */
export function failuresContract(subject: () => Subject): void {
  const ask = (...args: Parameters<Subject['ask']>) => subject().ask(...args)
  beforeEach(() => subject().fillPages(3))

  it('takes all pages together', async () => {
    expect(await ask(vendorFetch())).to.have.length(3)
    expect(subject().api.requests.map(({ user }) => user)).to.not.include(null)
  })

  for (const after of [0, 2]) {
    const page = `page ${after + 1}`

    for (const status of [401, 403, 404, 429, 500, 503]) {
      it(`does not know the groups when ${page} is answered with ${status}`, async () => {
        subject().api.fail(status, after)
        expect(await reasonOf(ask(vendorFetch()))).to.equal(`127.0.0.1 answered the request for groups with ${status}`)
        const more = subject().asksAgainAfter?.(status, after) ? 1 : 0
        expect(subject().api.requests).to.have.length(after + 1 + more)
      })
    }

    for (const later of ['0', new Date(0).toUTCString()]) {
      it(`asks for ${page} again when the vendor says to come later, "${later}"`, async () => {
        const busy = { kind: 'answer', status: 429, headers: { 'retry-after': later } } as const
        subject().api.fail(busy, after)
        const asked = ask(
          answering(vendorFetch(), () => {
            if (subject().api.requests.length === after + 2) subject().api.mend()
          }),
        )
        expect(await asked).to.have.length(3)
      })
    }

    it(`gives ${page} up when the vendor goes on saying to come later`, async () => {
      subject().api.fail({ kind: 'answer', status: 429, headers: { 'retry-after': '0' } }, after)
      expect(await reasonOf(ask(vendorFetch()))).to.match(/ with 429$/)
      expect(subject().api.requests).to.have.length(after + 3)
    })

    it(`waits for no later ${page} than there is time for, and for none without a time`, async () => {
      for (const later of ['15', '86400', '', 'soon', '-1', '1.5', new Date(Date.now() + 60_000).toUTCString()]) {
        const before = subject().api.requests.length
        subject().api.fail({ kind: 'answer', status: 429, headers: { 'retry-after': later } }, after)
        expect(await reasonOf(ask(vendorFetch())), later).to.match(/ with 429$/)
        expect(subject().api.requests).to.have.length(before + after + 1)
      }
    })

    it(`does not know the groups when ${page} never comes`, async () => {
      subject().api.fail({ kind: 'hang' }, after)
      expect(await reasonOf(ask(vendorFetch({ totalMs: 150 })))).to.equal(
        '127.0.0.1 did not answer the request for groups: TimeoutError',
      )
    })

    it(`does not know the groups when ${page} comes a byte at a time`, async () => {
      subject().api.fail({ kind: 'drip', everyMs: 5 }, after)
      expect(await reasonOf(ask(vendorFetch({ totalMs: 150 })))).to.match(/TimeoutError$/)
    })

    it(`does not know the groups when ${page} is larger than any answer may be`, async () => {
      subject().api.fail({ kind: 'huge', bytes: 2_000_000 }, after)
      expect(await reasonOf(ask(vendorFetch()))).to.match(/ANSWER_TOO_LARGE$/)
    })

    it(`does not know the groups when the connection is lost at ${page}`, async () => {
      subject().api.fail({ kind: 'reset' }, after)
      expect(await reasonOf(ask(vendorFetch()))).to.match(
        /^127\.0\.0\.1 did not answer .*: (ECONNRESET|UND_ERR_SOCKET)$/,
      )
    })

    it(`follows no redirect at ${page}`, async () => {
      subject().api.fail({ kind: 'redirect', to: `${subject().api.url}/internal` }, after)
      expect(await reasonOf(ask(vendorFetch()))).to.match(/ with 302$/)
      expect(subject().api.requests.map(({ path }) => path)).to.not.include('/internal')
    })

    for (const body of ['', '{', '<html>Sign in to the network</html>', 'null', '[]', '7', '"groups"', '{"ok":true}']) {
      it(`does not know the groups when ${page} is ${JSON.stringify(body)}`, async () => {
        subject().api.fail({ kind: 'answer', status: 200, body }, after)
        expect(await reasonOf(ask(vendorFetch()))).to.equal('127.0.0.1 sent something that is no list of groups')
      })
    }
  }

  it('does not know the groups when nobody listens', async () => {
    await subject().api.close()
    expect(await reasonOf(ask(vendorFetch()))).to.match(/: ECONNREFUSED$/)
  })

  it('reads twenty pages and gives up when there are more', async () => {
    subject().fillPages(20)
    expect(await ask(vendorFetch())).to.have.length(20)
    subject().fillPages(21)
    expect(await reasonOf(ask(vendorFetch()))).to.equal('there are more than 20 pages of groups')
    expect(subject().api.requests).to.have.length(40)
  })

  it('has one time limit for all pages together', async () => {
    const signals: AbortSignal[] = []
    const fetch = vendorFetch()
    const seen: VendorFetch = (url, init) => {
      signals.push(init.signal)
      return fetch(url, init)
    }
    subject().api.fail({ kind: 'hang' }, 2)
    expect(await reasonOf(ask(seen, TOKEN, 150))).to.match(/TimeoutError$/)
    expect(signals).to.have.length(3)
    expect(new Set(signals).size).to.equal(1)
  })

  it('does not know the groups without an access token, and asks nobody', async () => {
    expect(await reasonOf(ask(vendorFetch(), null))).to.equal('the flow brings no access token to ask for groups with')
    expect(subject().api.requests).to.deep.equal([])
  })

  it('quotes no token that no header can carry', async () => {
    expect(await reasonOf(ask(vendorFetch(), 'a-secret\nwith a second line'))).to.match(/TypeError$/)
  })

  it('does not know the groups when the token is worth nothing', async () => {
    expect(await reasonOf(ask(vendorFetch(), 'another-secret'))).to.match(/ with 401$/)
  })
}

/** A server that nobody should ask, and what it was asked nevertheless. */
export async function startStranger() {
  const asked: string[] = []
  const server = createServer((req, res) => {
    asked.push(req.url ?? '')
    res.end('{}')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    asked,
    port,
    close: async () => {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}

/** The same `fetch`, which tells after each answer. */
function answering(fetch: VendorFetch, told: () => void): VendorFetch {
  return async (url, init) => {
    const response = await fetch(url, init)
    told()
    return response
  }
}
