import { expect } from 'chai'
import type { Work } from '../../../../plugin/meshcentral/sessions/current-work.ts'
import { admitsGuest, isGuestCookie } from '../../../../plugin/meshcentral/sessions/guest-cookies.ts'
import { Socket } from './server-sessions.ts'

const NOW = 10_000
/** A guest who may use desktop and files of a device. */
const GUEST = { userid: 'user//~oidc:1', domainid: '', nid: 'node//1', pid: 'public', gn: 'Guest', cf: 0, r: 8, p: 6 }

const workAt = (path: string, query: Work['query'] = {}, socket?: Socket): Work => ({
  ...{ path, query, socket, request: undefined, session: undefined, brought: new Map() },
})
const relay = (query: Work['query'] = { p: '2' }) => workAt('/meshrelay.ashx/.websocket', query, new Socket())
const files = workAt('/devicefile.ashx')
const opens = (cookie: object, where: Work | undefined, minutes = 60) => admitsGuest(cookie, where, minutes, NOW)

describe("guest's cookie", () => {
  it("recognizes a guest's cookie by nid, pid or guest rights if it has no member a", () => {
    for (const cookie of [GUEST, { nid: 'node//1' }, { pid: 'public' }, { r: 8 }]) {
      expect(isGuestCookie(cookie)).to.equal(true)
    }
    const link = { a: 'tmpdl', nid: 'node//1' }
    for (const cookie of [
      { a: 5, nid: 'node//1', pid: 'public' },
      { a: 6, pid: 'public' },
      link,
      { nodeid: 'node//1' },
    ]) {
      expect(isGuestCookie(cookie)).to.equal(false)
    }
  })

  // Shows: plugin 10.17.
  it("a guest's cookie opens only tunnels and files, in any domain", () => {
    const tunnel = relay()
    for (const path of ['/meshrelay.ashx/.websocket', '/sub/MeshRelay.ashx/.websocket']) {
      expect(opens(GUEST, { ...tunnel, path }), path).to.equal(true)
      expect(opens(GUEST, { ...tunnel, path, socket: undefined }), path).to.equal(false)
    }
    for (const path of ['/devicefile.ashx', '/sub/devicefile.ashx'])
      expect(opens(GUEST, workAt(path)), path).to.equal(true)
    expect(opens(GUEST, { ...tunnel, path: '/devicefile.ashx' })).to.equal(false)
    for (const path of [
      '/control.ashx/.websocket',
      '/uploadfile.ashx',
      '/meshrelay.ashx/other',
      '/',
      '/devicefile.ashx/a',
    ]) {
      expect(opens(GUEST, workAt(path)), path).to.equal(false)
      expect(opens(GUEST, { ...tunnel, path }), path).to.equal(false)
    }
  })

  // Shows: plugin 10.17.
  it("a guest's cookie opens only tunnels to shared features, and none to a port", () => {
    for (const [p, protocol, isOpen] of [
      [1, '1', true],
      [1, '9', true],
      [1, '2', false],
      [2, '2', true],
      [2, '5', false],
      [4, '5', true],
      [4, '10', true],
      [7, '14', false],
      [8, '2', false],
      [31, ['2'], false],
      [31, undefined, false],
      ['2', '2', false],
    ] as const) {
      expect(opens({ ...GUEST, p }, relay({ p: protocol })), `${p}, ${protocol}`).to.equal(isOpen)
    }
    expect([60, 240, 32].map((minutes) => opens(GUEST, relay(), minutes))).to.deep.equal([true, false, false])
    expect([2, 4].map((p) => opens({ ...GUEST, p }, files))).to.deep.equal([false, true])
    for (const port of ['tcpport', 'udpport']) expect(opens(GUEST, relay({ p: '2', [port]: '22' }))).to.equal(false)
  })

  // Shows: plugin 10.17.
  it("a guest's cookie opens nothing after the share expired", () => {
    for (const place of [relay(), files]) {
      expect([NOW, NOW + 1].map((expire) => opens({ ...GUEST, expire }, place))).to.deep.equal([false, true])
    }
  })

  // Shows: plugin 10.17.
  it("a guest's cookie opens only web relays if the plugin cannot see the request", () => {
    for (const p of [8, 16]) {
      expect([32, 60].map((minutes) => opens({ ...GUEST, p }, undefined, minutes))).to.deep.equal([true, false])
    }
    for (const p of [1, 2, 4, 7, 15, 24, undefined])
      expect(opens({ ...GUEST, p }, undefined, 32), `${p}`).to.equal(false)
    expect(opens({ ...GUEST, p: 8, r: undefined }, undefined, 32)).to.equal(false)
    expect(opens({ ...GUEST, p: 8, expire: NOW }, undefined, 32)).to.equal(false)
  })
})
