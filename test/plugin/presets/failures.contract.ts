import { createServer } from 'node:http'
import { expect } from 'chai'
import type { VendorApi } from '../../../fixtures/idp/vendors/vendor-api.ts'
import type { Memberships } from '../../../plugin/login/groups/memberships.ts'
import type { VendorAccess } from '../../../plugin/presets/vendor-api.ts'
import { onLoopback } from '../../support/on-loopback.ts'
import { reasonOf, until, vendorAccess } from './vendor-fetch.ts'

/** A preset before its vendor's API, and a user who is in some groups, so many that they fill three pages. */
export interface Subject {
  readonly api: VendorApi<never>
  ask(access: VendorAccess, accessToken?: string | null): Promise<Memberships>
  /** Whether a page that was answered so is asked for in another way once more. Default: never. */
  asksAgainAfter?(status: number, after: number): boolean
  /** Puts the user into this many groups; each fills a page. */
  fillPages(pages: number): void
}

/**
 * What holds for every preset that asks a vendor's API for groups: what it could not learn in full it does not know at
 * all.
 */
export function failuresContract(subject: () => Subject): void {
  const ask = (...args: Parameters<Subject['ask']>) => subject().ask(...args)
  const requested = (times: number) => until(() => subject().api.requests.length === times)
  beforeEach(() => subject().fillPages(3))

  for (const after of [0, 2]) {
    const page = `page ${after + 1}`

    for (const status of [401, 403, 404, 429, 500, 503]) {
      // Shows: plugin 8.12.
      it(`does not know the groups when ${page} is answered with ${status}`, async () => {
        subject().api.fail(status, after)
        expect(await reasonOf(ask(vendorAccess()))).to.equal(`127.0.0.1 answered the request for groups with ${status}`)
        const more = subject().asksAgainAfter?.(status, after) ? 1 : 0
        expect(subject().api.requests).to.have.length(after + 1 + more)
      })
    }

    it(`does not know the groups when ${page} never comes`, async () => {
      subject().api.fail({ kind: 'hang' }, after)
      const access = vendorAccess()
      const reason = reasonOf(ask(access))
      await requested(after + 1)
      await access.clock.advance(10_000)
      expect(await reason).to.equal('127.0.0.1 did not answer the request for groups: TimeoutError')
    })

    it(`does not know the groups when the connection is lost at ${page}`, async () => {
      subject().api.fail({ kind: 'reset' }, after)
      expect(await reasonOf(ask(vendorAccess()))).to.match(
        /^127\.0\.0\.1 did not answer .*: (ECONNRESET|UND_ERR_SOCKET)$/,
      )
    })

    for (const body of ['', '{', '<html>Sign in to the network</html>', 'null', '[]', '7', '"groups"', '{"ok":true}']) {
      it(`does not know the groups when ${page} is ${JSON.stringify(body)}`, async () => {
        subject().api.fail({ kind: 'answer', status: 200, body }, after)
        expect(await reasonOf(ask(vendorAccess()))).to.equal('127.0.0.1 did not answer with a list of groups')
      })
    }
  }

  it('reads twenty pages and gives up when there are more', async () => {
    subject().fillPages(20)
    expect(await ask(vendorAccess())).to.have.length(20)
    subject().fillPages(21)
    expect(await reasonOf(ask(vendorAccess()))).to.equal('there are more than 20 pages of groups')
    expect(subject().api.requests).to.have.length(40)
  })

  it('has one time limit for all pages together', async () => {
    // A page may take for ever; in the end there is the limit of all.
    const { clock, fetch } = vendorAccess({ totalMs: 60_000 })
    const held: (() => void)[] = []
    const slow: VendorAccess['fetch'] = async (url, init) => {
      await new Promise<void>((resolve) => held.push(resolve))
      return fetch(url, init)
    }
    subject().api.fail({ kind: 'hang' }, 2)
    let isOver = false
    const reason = reasonOf(ask({ clock, fetch: slow })).finally(() => (isOver = true))
    for (const page of [0, 1, 2]) {
      await until(() => held.length > page)
      await clock.advance(4_000)
      held[page]?.()
    }
    await requested(3)
    await clock.advance(2_999)
    expect(isOver).to.equal(false)
    await clock.advance(1)
    expect(await reason).to.match(/TimeoutError$/)
  })

  it('does not know the groups without an access token, and asks nobody', async () => {
    expect(await reasonOf(ask(vendorAccess(), null))).to.equal(
      'the flow issues no access token, which the request for groups needs',
    )
    expect(subject().api.requests).to.deep.equal([])
  })

  it('quotes no token that no header can carry', async () => {
    expect(await reasonOf(ask(vendorAccess(), 'a-secret\nwith a second line'))).to.match(/TypeError$/)
  })
}

/** A server that nobody should ask, and what it was asked nevertheless. */
export async function startStranger() {
  const asked: string[] = []
  const server = createServer((req, res) => {
    asked.push(req.url ?? '')
    res.end('{}')
  })
  return { asked, ...(await onLoopback(server)) }
}
