import { expect } from 'chai'
import { renderStationList, renderStationPage } from '../../../../sidecar/operator/page/station-pages.ts'
import { StationAnswers } from '../../../../sidecar/operator/station-answers.ts'
import { register, temporaryStores } from '../../store/sqlite/temporary-stores.ts'

const NOW = Date.UTC(2026, 0, 31, 12)
const MARKUP = `<script>alert("1")</script>'&`

describe('The station pages of the operator port', () => {
  const stores = temporaryStores()

  // Shows: sidecar C12.6, O2.2.
  it('text from outside is escaped on the page of a station', () => {
    const page = renderStationPage(
      {
        station: 'N0CALL-7',
        avatarHash: MARKUP,
        devices: [
          {
            platform: 'android',
            token: MARKUP,
            tokenDead: true,
            ackMessages: true,
            registeredAt: NOW - 1000,
            lastSeenAt: NOW - 500,
            pending: 1,
            lastPush: { at: NOW - 100, outcome: 'refused', reason: MARKUP },
          },
        ],
        messages: [{ from: MARKUP, to: MARKUP, seqId: MARKUP, time: NOW, ackedAt: null }],
      },
      NOW,
    )
    expect(page).not.to.include('<script')
    expect(page.split('&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&#39;&amp;')).to.have.length(7)
    for (const part of ['dead', 'refused', '2026-01-31 11:59:59']) expect(page).to.include(part)
  })

  it('the list of stations links each station and the next page', () => {
    const station = { station: 'N0CALL-7', devices: 2, lastSeenAt: NOW - 61_000, pending: 1 }
    const page = renderStationList({ stations: [station], next: 'N0CALL-7' }, NOW)
    for (const part of ['<a href="/view/N0CALL-7">', '1 min 1 s ago', '<a href="/view?after=N0CALL-7">'])
      expect(page).to.include(part)
    expect(renderStationList({ stations: [], next: null }, NOW)).to.include('No station.')
  })

  // Shows: sidecar O2.2.
  it('lists 1,000 stations per page, with a cursor for the next page', async () => {
    const store = await stores.open({ rateLimit: { newStationsPerHour: 2000 } })
    const keys = Array.from({ length: 1001 }, (_, index) => `N${1000 + index}A`)
    await register(store, ...keys)
    const answers = new StationAnswers({ reports: store.reports, notify: async () => undefined, now: () => NOW })
    const pageAfter = async (station: string) =>
      JSON.parse((await answers.list(new URLSearchParams({ after: station }))).body) as {
        readonly stations: readonly { readonly station: string }[]
        readonly next: string | null
      }
    const first = await pageAfter('')
    expect(first.stations).to.have.length(1000)
    expect(first.next).to.equal(keys[999])
    const second = await pageAfter(first.next ?? '')
    expect(second).to.deep.include({ next: null })
    expect(second.stations.map(({ station }) => station)).to.deep.equal([keys[1000]])
  })
})
