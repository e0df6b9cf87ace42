import { createServer } from 'node:http'
import { expect } from 'chai'
import type { VendorApi } from '../../../fixtures/idp/vendors/vendor-api.ts'
import type { Memberships } from '../../../plugin/login/groups/memberships.ts'
import type { VendorAccess } from '../../../plugin/presets/vendor-api.ts'
import { onLoopback } from '../../support/on-loopback.ts'
import { reasonOf, until, vendorAccess } from './vendor-fetch.ts'

/** A preset with its vendor's API, and a user in so many groups that they fill three pages. */
export interface Subject {
  readonly api: VendorApi<never>
  memberships(access: VendorAccess, accessToken?: string | null): Promise<Memberships>
  /** Whether a page with this status is requested again in another way. Default: never. */
  asksAgainAfter?(status: number, pageIndex: number): boolean
  /** Puts the user into this number of groups. Each fills a page. */
  fillPages(pages: number): void
}

/**
 * Defines tests for every preset that asks a vendor's API for groups. If the list is incomplete, all groups are
 * unknown.
 */
export function failuresContract(subject: () => Subject): void {
  const memberships = (...args: Parameters<Subject['memberships']>) => subject().memberships(...args)
  const requested = (times: number) => until(() => subject().api.requests.length === times)
  beforeEach(() => subject().fillPages(3))

  for (const pageIndex of [0, 2]) {
    const page = `page ${pageIndex + 1}`

    for (const status of [401, 403, 404, 429, 500, 503]) {
      // Shows: plugin 8.12.
      it(`groups are unknown if the vendor answers ${page} with ${status}`, async () => {
        subject().api.fail(status, pageIndex)
        expect(await reasonOf(memberships(vendorAccess()))).to.equal(
          `127.0.0.1 answered the request for groups with ${status}`,
        )
        const more = subject().asksAgainAfter?.(status, pageIndex) ? 1 : 0
        expect(subject().api.requests).to.have.length(pageIndex + 1 + more)
      })
    }

    it(`groups are unknown if ${page} of the vendor's list never arrives`, async () => {
      subject().api.fail({ kind: 'hang' }, pageIndex)
      const access = vendorAccess()
      const reason = reasonOf(memberships(access))
      await requested(pageIndex + 1)
      await access.clock.advance(10_000)
      expect(await reason).to.equal('127.0.0.1 did not answer the request for groups: TimeoutError')
    })

    it(`groups are unknown if the connection is lost at ${page} of the vendor's list`, async () => {
      subject().api.fail({ kind: 'reset' }, pageIndex)
      expect(await reasonOf(memberships(vendorAccess()))).to.match(
        /^127\.0\.0\.1 did not answer .*: (ECONNRESET|UND_ERR_SOCKET)$/,
      )
    })

    for (const body of ['', '{', '<html>Sign in to the network</html>', 'null', '[]', '7', '"groups"', '{"ok":true}']) {
      it(`groups are unknown if ${page} is ${JSON.stringify(body)}`, async () => {
        subject().api.fail({ kind: 'answer', status: 200, body }, pageIndex)
        expect(await reasonOf(memberships(vendorAccess()))).to.equal('127.0.0.1 did not answer with a list of groups')
      })
    }
  }

  it('reads up to twenty pages of groups; groups are unknown if there are more', async () => {
    subject().fillPages(20)
    expect(await memberships(vendorAccess())).to.have.length(20)
    subject().fillPages(21)
    expect(await reasonOf(memberships(vendorAccess()))).to.equal('there are more than 20 pages of groups')
    expect(subject().api.requests).to.have.length(40)
  })

  it('one time limit applies to all pages of groups together', async () => {
    // A single page has no limit here, only all pages together.
    const { clock, fetch } = vendorAccess({ totalMs: 60_000 })
    const held: (() => void)[] = []
    const slow: VendorAccess['fetch'] = async (url, init) => {
      await new Promise<void>((resolve) => held.push(resolve))
      return fetch(url, init)
    }
    subject().api.fail({ kind: 'hang' }, 2)
    let isOver = false
    const reason = reasonOf(memberships({ clock, fetch: slow })).finally(() => (isOver = true))
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

  it('requests no groups without an access token, and reports them as unknown', async () => {
    expect(await reasonOf(memberships(vendorAccess(), null))).to.equal(
      'the request for groups needs an access token, so `client.response_types` must contain code',
    )
    expect(subject().api.requests).to.deep.equal([])
  })

  it('the error of a failed request omits an access token with invalid characters', async () => {
    expect(await reasonOf(memberships(vendorAccess(), 'a-secret\nwith a second line'))).to.match(/TypeError$/)
  })
}

/** Starts a server that must get no request, and records those that it gets. */
export async function startStranger() {
  const strangerRequests: string[] = []
  const server = createServer((req, res) => {
    strangerRequests.push(req.url ?? '')
    res.end('{}')
  })
  return { strangerRequests, ...(await onLoopback(server)) }
}
