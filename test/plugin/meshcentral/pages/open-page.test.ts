import { EventEmitter } from 'node:events'
import { runInNewContext } from 'node:vm'
import { expect } from 'chai'
import {
  notePage,
  PAGE_FUNCTIONS,
  reloadIfRefused,
  sendToLogin,
} from '../../../../plugin/meshcentral/pages/open-page.ts'
import type { MeshRequest } from '../../../../plugin/meshcentral/server.ts'

describe('open MeshCentral page whose session ends', () => {
  it('an open page gets the message signedOut over its control socket only', () => {
    const sentOver = (path: string) => {
      const sent: string[] = []
      const ws = Object.assign(new EventEmitter(), { close: () => undefined, send: (text: string) => sent.push(text) })
      notePage({ path, ws } as unknown as MeshRequest)
      sendToLogin(ws)
      return sent.map((text) => JSON.parse(text) as unknown)
    }
    const signedOut = { action: 'plugin', plugin: 'meshcompanion', method: 'signedOut' }
    expect(sentOver('/control.ashx/.websocket')).to.deep.equal([signedOut])
    expect(sentOver('/sub/control.ashx/.websocket')).to.deep.equal([signedOut])
    for (const path of ['/meshrelay.ashx/.websocket', '/control.ashx', '/'])
      expect(sentOver(path), path).to.deep.equal([])
  })

  it('an open page gets the message signedOut just before its socket is refused', () => {
    const sentWith = (path: string, ...messages: readonly object[]) => {
      const sent: string[] = []
      const ws = Object.assign(new EventEmitter(), { close: () => undefined, send: (text: string) => sent.push(text) })
      notePage({ path, ws } as unknown as MeshRequest)
      reloadIfRefused(ws)
      for (const message of messages) ws.send(JSON.stringify(message))
      return sent.map((text) => JSON.parse(text) as { readonly method?: string })
    }
    const path = '/control.ashx/.websocket'
    const refusal = { action: 'close', cause: 'noauth', msg: 'noauth' }
    const reloads = { action: 'plugin', plugin: 'meshcompanion', method: 'signedOut' }
    expect(sentWith(path, refusal)).to.deep.equal([reloads, refusal])
    for (const msg of ['tokenrequired', 'nokey'])
      expect(sentWith(path, { ...refusal, msg })).to.deep.equal([{ ...refusal, msg }])
    expect(sentWith(path, { action: 'serverinfo' }, refusal)).to.deep.equal([{ action: 'serverinfo' }, refusal])
    expect(sentWith('/meshrelay.ashx/.websocket', refusal)).to.deep.equal([refusal])
  })

  const runAll = (tasks: readonly (() => void)[]) => {
    for (const run of tasks) run()
  }
  /** Returns the parts of MeshCentral's page that the functions use. */
  const openPage = (stored: Map<string, string> = new Map()) => {
    const timers: (() => void)[] = []
    const listeners: (() => void)[] = []
    const page = { now: 1_000_000, reloads: 0, leave: () => runAll(listeners) }
    const context = {
      window: {
        addEventListener: (_event: string, listener: () => void) => listeners.push(listener),
        location: { reload: () => (page.reloads += 1) },
      },
      sessionStorage: {
        getItem: (key: string) => stored.get(key) ?? null,
        setItem: (key: string, value: string) => stored.set(key, value),
      },
      setTimeout: (run: () => void) => timers.push(run),
      Date: { now: () => page.now },
    }
    const meshcompanion = Object.fromEntries(
      Object.entries(PAGE_FUNCTIONS).map(([name, text]) => [name, runInNewContext(`(${text})`, context)]),
    ) as Record<keyof typeof PAGE_FUNCTIONS, (this: unknown, server?: object) => void>
    meshcompanion.onWebUIStartupEnd.apply({ meshcompanion })
    const server: { onStateChanged: unknown } = { onStateChanged: 'speaks of a server that is down' }
    return {
      page,
      server,
      signedOut: () => meshcompanion.signedOut(server),
      wait: () => runAll(timers.splice(0)),
    }
  }

  it('an open page reloads if its session ends, instead of reporting a lost server', () => {
    const { page, server, signedOut, wait } = openPage()
    signedOut()
    expect(server.onStateChanged).to.equal(null)
    wait()
    expect(page.reloads).to.equal(1)
  })

  it('an open page reloads at most five times a minute', () => {
    const tab = new Map<string, string>()
    const reloads = [0, 1, 2, 3, 4, 5, 6, 70_000].map((later) => {
      const { page, signedOut, wait } = openPage(tab)
      page.now += later
      signedOut()
      wait()
      return page.reloads
    })
    expect(reloads).to.deep.equal([1, 1, 1, 1, 1, 0, 0, 1])
  })

  it('a page that the user is leaving does not reload when its session ends', () => {
    const leftBefore = openPage()
    leftBefore.page.leave()
    leftBefore.signedOut()
    leftBefore.wait()
    expect(leftBefore.page.reloads).to.equal(0)
    expect(leftBefore.server.onStateChanged).to.equal('speaks of a server that is down')

    const leftAfter = openPage()
    leftAfter.signedOut()
    leftAfter.page.leave()
    leftAfter.wait()
    expect(leftAfter.page.reloads).to.equal(0)
  })

  it('an open page reloads if its session ends some seconds after a download began', () => {
    const { page, signedOut, wait } = openPage()
    page.leave()
    page.now += 6000
    signedOut()
    wait()
    expect(page.reloads).to.equal(1)
  })
})
