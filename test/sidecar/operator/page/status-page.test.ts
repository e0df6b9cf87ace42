import { createHash } from 'node:crypto'
import { expect } from 'chai'
import type { Status } from '../../../../sidecar/operator/page/status.ts'
import { renderStatusPage } from '../../../../sidecar/operator/page/status-page.ts'
import { POLICY } from '../../../../sidecar/operator/page/style.ts'
import { eventfulStatus } from '../../../support/eventful-status.ts'

const page = (changes: Partial<Status> = {}, refresh = true) => renderStatusPage(eventfulStatus(changes), refresh)
const text = (markup: string) => markup.replaceAll(/<style>.*?<\/style>|<[^>]*>/gs, ' ').replaceAll(/\s+/g, ' ')

describe('The status page', () => {
  it('the title and banner of the status page show if the sidecar is ready, or why not', () => {
    expect(page({ obstacles: [], gateways: [] }))
      .to.include('<title>Ready – N0CALL-10')
      .and.include('✓ Ready.')
    const markup = page({ obstacles: ['upstream_not_connected'] })
    expect(markup).to.include('<title>Not ready – N0CALL-10').and.include('upstream_not_connected')
    expect(text(markup)).to.include('The sidecar is not logged in to APRS-IS, so no messages arrive.')
  })

  it("the status page's banner shows why messages are not stored, and the remedy", () => {
    const shown = text(page({ obstacles: ['messages_not_stored'], storeFault: 'disk_full' }))
    expect(shown).to.include('The disk of the database is full. Free space on the disk.')
    expect(text(page({ obstacles: ['messages_not_stored'] }))).to.not.include('Free space on the disk')
  })

  it('the status page shows disk space and certificate expiry, with hints when urgent', () => {
    const { now } = eventfulStatus()
    const DAY_MS = 86_400_000
    expect(text(page())).to.include('Free space 21.4 GB on the disk of the database').and.not.include('Certificate')
    expect(text(page({ diskFreeBytes: 199e6 }))).to.include('Free space 199 MB low: free some')
    expect(text(page({ diskFreeBytes: Number.NaN }))).to.not.include('Free space')
    const certificate = (days: number) => text(page({ certificateExpiresAt: now + days * DAY_MS }))
    expect(certificate(60)).to.include('Certificate 60 days until 2026-07-16')
    expect(certificate(13)).to.include('Certificate 13 days renew it · until 2026-05-30')
    expect(certificate(-1)).to.include('Certificate expired renew it')
  })

  it("the status page labels totals as this instance's own on a shared database", () => {
    expect(text(page())).to.include('Since the start Packets')
    const shared = { address: 'db/mesh', instances: undefined, ownName: 'north' }
    expect(text(page({ shared }))).to.include('Since the start of north, this instance alone Packets')
  })

  it('the status page names the likely cause if APRS-IS drops 3 logins in 15 minutes', () => {
    const { upstream } = eventfulStatus()
    const dropped = (recentDrops: number) => ({
      obstacles: [],
      gateways: [],
      upstream: { ...upstream, connections: upstream.connections.map((item) => ({ ...item, recentDrops })) },
    })
    expect(page(dropped(2))).to.include('✓ Ready.')
    const markup = page(dropped(3))
    expect(markup).to.include('<title>APRS-IS drops the login – N0CALL-10').and.not.include('✓ Ready.')
    expect(text(markup))
      .to.include('APRS-IS ended the login of N0CALL-10 3 times within 15 minutes.')
      .and.include('set aprsis.callsign to an SSID that nothing else uses')
  })

  // Shows: sidecar O1.4.
  it('the status page shows the state of gateways, and a banner if one refuses pushes', () => {
    const { gateways, now } = eventfulStatus()
    const [android, ios] = gateways.map((gateway) => ({ ...gateway, state: 'working' as const }))
    if (!android || !ios) throw new Error('Two gateways are expected.')
    expect(page({ obstacles: [], gateways: [android, ios] }))
      .to.include('✓ Ready.')
      .and.not.include('class="state off"')
    const refused = page({ obstacles: [], gateways })
    expect(refused).to.include('class="state off"').and.include('<title>Pushes refused – ')
    const cards = [...refused.matchAll(/<section class="card gateway".*?<\/section>/gs)].map(([card]) =>
      text(card).trim(),
    )
    expect(cards).to.deep.equal([
      'Android, by FCM ✗ refuses notifications Last accepted 20 min 0 s ago Last refused 19 min 0 s ago : FCM finds the payload invalid &lt;script&gt;alert(&quot;it&#39;s&quot;)&lt;/script&gt;&amp;amp; Waiting 1 device',
      'iOS, by APNs ● accepts notifications Last accepted 4 s ago Last refused never since the start Last failed 22 min 0 s ago : no answer within 10 s Waiting 2 devices',
    ])
    const unused = { ...ios, state: 'unused' as const, lastAcceptedAt: undefined, lastFailed: { at: now, reason: 'x' } }
    expect(text(page({ gateways: [unused] }))).to.include('nothing sent yet Last accepted never since the start')
    expect(text(page({ gateways: [] }))).to.include('No push gateway is configured, so no phone is notified.')
  })

  // Shows: sidecar P1.7.
  it('the status page shows whether this instance and others listen to APRS-IS', () => {
    const { upstream } = eventfulStatus()
    expect(text(page())).not.to.include('listeners')
    const otherListeners = [
      { slot: 1, instance: 'east <2>', servers: ['T2ONE', 'T2TWO'], callsigns: ['N0CALL-98', 'N0CALL-99'] },
    ]
    const shared = text(page({ upstream: { ...upstream, listeners: { held: 2, wanted: 2 }, others: otherListeners } }))
    expect(shared).to.include('This instance listens to APRS-IS. 2 of 2 listeners are active.')
    expect(shared).to.include('east &lt;2&gt; T2ONE, T2TWO N0CALL-98, N0CALL-99')
    const idle = {
      ...upstream,
      listener: null,
      connections: [],
      listeners: { held: 1, wanted: 2 },
      others: otherListeners,
    }
    const standby = text(page({ upstream: idle, obstacles: [], gateways: [] }))
    expect(standby).to.include('✓ Ready. Other instances listen to APRS-IS.')
    expect(standby).to.include('This instance does not listen to APRS-IS. 1 of 2 listeners are active.')
    expect(standby).not.to.include('No connection is open yet')
  })

  // Shows: sidecar P1.7.
  it('the status page shows the shared database and all instances that use it', () => {
    expect(text(page())).not.to.include('Instances')
    const { now } = eventfulStatus()
    const note = (listen: boolean, listener: number | null) => JSON.stringify({ version: '1.2.3', listen, listener })
    const startedAt = now - 60_000
    const instances = [
      { name: 'east', startedAt, note: note(true, 0) },
      { name: 'north', startedAt, note: note(true, null) },
      { name: 'south', startedAt, note: note(false, null) },
      { name: '<west>', startedAt, note: 'of another version' },
    ]
    const shared = { address: 'db.example:5433/mesh', ownName: 'north' }
    const shown = text(page({ shared: { ...shared, instances } }))
    expect(shown).to.include('The instances share the PostgreSQL database db.example:5433/mesh.')
    for (const row of [
      'east listens 1.2.3 1 min 0 s',
      'north (this one) stands by 1.2.3 1 min 0 s',
      'south does not listen 1.2.3 1 min 0 s',
      '&lt;west&gt; does not listen – 1 min 0 s',
    ])
      expect(shown).to.include(row)
    expect(text(page({ shared: { ...shared, instances: undefined } }))).to.include(
      'The database does not answer, so the instances are unknown.',
    )
  })

  // Shows: sidecar O1.6.
  it('the status page writes "1 station" in the singular', () => {
    const { upstream } = eventfulStatus()
    const connections = upstream.connections.map((connection) => ({ ...connection, stations: 1 }))
    const shown = text(page({ upstream: { ...upstream, connections, leftOut: 1 } }))
    expect(shown)
      .to.include('The filters have no room for 1 station:')
      .and.include('1 station, 7.8 kB')
      .and.not.include('1 stations')
  })

  // Shows: sidecar C12.5.
  it('the status page shows version, uptime, stations, devices, database and memory', () => {
    const shown = text(page())
    for (const part of [
      'version 1.2.3',
      'up for 12 d 0 h',
      '2,600 of 5,000',
      'Devices: 1,702 Android',
      '938 iOS',
      'last packet 2 s ago',
      '3 being sent',
      '34.3 MB',
      '142 MB of memory',
    ])
      expect(shown).to.include(part)
    expect(text(page({ databaseBytes: Number.NaN, lastPacketAt: undefined })))
      .to.include('unknown')
      .and.include('no packet yet')
  })

  // Shows: sidecar C12.4.
  it('the status page shows totals of packets, messages, pushes and requests', () => {
    for (const part of [
      'Packets from APRS-IS received 4,211,907',
      'Messages stored 41,204 repeated 9,117 lost 8',
      'Notifications accepted 30,119 tried again 412 failed 15',
      'API requests answered 187,226 refused 1,204 dropped 120',
    ])
      expect(text(page())).to.include(part)
  })

  it('the status page counts Web Push phones, and shows if Web Push is off', () => {
    const devices = { android: 1702, ios: 938, webpush: 7 }
    expect(text(page())).to.not.include('Web Push')
    expect(text(page({ devices }))).to.include('· 7 Web Push (push off)')
    const gateways = eventfulStatus().gateways.map((gateway) => ({ ...gateway, platform: 'webpush' as const }))
    expect(text(page({ devices, gateways }))).to.not.include('Web Push (push off)')
  })

  // Shows: sidecar C12.3.
  it('the status page lists callsign, server, age, filter and traffic per connection', () => {
    const rows = [...page().matchAll(/<tr><th scope="row">.*?<\/tr>/gs)].map(([row]) => text(row).trim())
    expect(rows).to.deep.equal([
      'N0CALL-10 ● up T2TEST yes 2026-05-17 12:33:21 (1 h 30 min) 880 stations, 7.8 kB 48.2 MB 1.2 MB',
      'N0CALL-A1 ● up, filter not confirmed yet T2TEST yes 2026-05-17 12:33:21 (1 h 30 min) 880 stations, 7.8 kB 22.0 MB 640 kB',
      'N0CALL-A2 ○ down, retrying soon – – 2026-05-17 12:33:21 (1 h 30 min) 880 stations, 7.8 kB 9.3 kB 8.0 kB',
    ])
  })

  // Shows: sidecar C12.3.
  it('the status page shows unverified APRS-IS logins, full filters and paused reads', () => {
    const { upstream } = eventfulStatus()
    const [first] = upstream.connections
    const connections = first ? [{ ...first, verified: false }] : []
    const shown = text(page({ upstream: { ...upstream, connections, leftOut: 12, paused: true } }))
    expect(shown)
      .to.include('no: acks cannot be sent')
      .and.include('The filters have no room for 12 stations: raise aprsis.maxConnections')
    expect(shown).to.include('reading waits for the database')
  })

  // Shows: sidecar C12.5.
  it('the status page lists logged events with counts, or "None since the start."', () => {
    expect(text(page())).to.include('push-gateway-failing × 14')
    expect(text(page({ events: [] }))).to.include('None since the start.')
  })

  // Shows: sidecar C12.6.
  it('the status page escapes markup in text from outside', () => {
    const hostile = `"><script>alert('1')</script>&`
    const { upstream, events } = eventfulStatus()
    const named = { callsign: hostile, state: hostile, server: hostile }
    const markup = page({
      version: hostile,
      callsign: hostile,
      upstream: { ...upstream, connections: upstream.connections.map((connection) => ({ ...connection, ...named })) },
      events: events.map((event) => ({ ...event, event: hostile, msg: hostile, detail: hostile })),
    })
    // The only script is the page's own.
    expect(markup.match(/<script/g)).to.have.length(1)
    expect(markup).to.not.include('">"')
    expect(markup).to.include('&quot;&gt;&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;&amp;')
  })

  // Shows: sidecar C12.6.
  it('the status page has one inline style and script, which its CSP allows by hash', () => {
    const markup = page()
    for (const kind of ['style', 'script']) {
      const [only = '', ...further] = [...markup.matchAll(new RegExp(`<${kind}>(.*?)</${kind}>`, 'gs'))].map(
        ([, text]) => text,
      )
      expect(further).to.deep.equal([])
      expect(POLICY).to.include(`${kind}-src 'sha256-${createHash('sha256').update(only).digest('base64')}'`)
    }
    expect(markup).to.not.match(/<(link|img|iframe|object)|\sstyle=|\son\w+=|https?:|url\((?!#)/)
  })

  it('the status page reloads every 30 s unless refresh is off', () => {
    expect(page()).to.include('setTimeout(() => location.reload(), 30000)').and.include('href="/?refresh=off"')
    expect(page({}, false)).to.not.include('<script').and.not.include('refresh=off')
  })

  it('the status page stays below 150 kB with 50 long events', () => {
    const [event] = eventfulStatus().events
    const events = event ? Array.from({ length: 50 }, () => ({ ...event, detail: 'x'.repeat(600) })) : []
    expect(page({ events }).length).to.be.below(150_000)
  })
})
