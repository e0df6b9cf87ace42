import { EventEmitter, once } from 'node:events'
import { expect } from 'chai'
import type { Fetch } from '../../../sidecar/client/index.ts'
import { deferred } from '../../support/deferred.ts'
import { registration } from '../../support/running-api.ts'
import { phoneApp } from './phone.ts'

const HOUR = 3_600_000

describe('The retries of the phone client', () => {
  const setup = phoneApp()
  const { launch, launched, asked: request, push, codeOf, settled } = setup

  describe('Failed requests of the phone client', () => {
    it('the client reports a failed request at once, and retries with growing delays', async () => {
      const client = await launch()
      setup.app.fates = ['request_lost', 'request_lost', 'request_lost']
      expect(await codeOf(client.start())).to.equal('unreachable')
      const waits: number[] = []
      for (let tries = 1; tries <= 3; tries++) {
        const from = setup.app.clock.elapsed()
        while (setup.app.requests.length === tries) await setup.app.clock.advance(100)
        waits.push(setup.app.clock.elapsed() - from)
      }
      expect(waits).to.deep.equal([2000, 4000, 8000])
      await client.sync()
      expect(setup.api.store.stations.get('N0CALL-7')).to.not.equal(undefined)
    })

    // Shows: sidecar C15.4.
    it('a client over the rate limit sends nothing until its retry delay has passed', async () => {
      await setup.restart({ rateLimit: { max: 1 } })
      const client = await launched()
      expect(await codeOf(client.sync())).to.equal('unreachable')
      const calls = [client.pushReceived(push()), client.sync(), client.setPushToken('another')]
      await setup.app.clock.advance(1999)
      expect(request()).to.deep.equal(['register', 'sync'])
      await setup.api.clock.advance(60_000)
      await setup.app.clock.advance(1)
      expect(await codeOf(calls[0] ?? Promise.resolve())).to.equal('none')
      await client.close()
      await Promise.allSettled(calls)
    })

    it('the client retries with short delays again after a successful call', async () => {
      const client = await launch()
      setup.app.fates = ['request_lost', 'request_lost']
      await codeOf(client.start())
      await settled(client, client.sync())
      await settled(client, client.sync())
      setup.app.fates = ['request_lost']
      await codeOf(client.sync())
      const countBefore = setup.app.requests.length
      await setup.app.clock.advance(1999)
      expect(setup.app.requests.length).to.equal(countBefore)
      await setup.app.clock.advance(1)
      expect(setup.app.requests.length).to.equal(countBefore + 1)
      await settled(client, client.sync())
    })

    it('the client does not retry a request that the server refused for good', async () => {
      const client = await launch({ passcode: 1 })
      expect(await codeOf(client.start())).to.equal('wrong_passcode')
      await setup.app.clock.advance(HOUR)
      expect(request()).to.deep.equal(['register'])
    })

    it('the client retries after an invalid answer or a temporary error of the server', async () => {
      const answers = [
        { status: 200, json: async () => JSON.parse('<html>') },
        { status: 502, json: async () => ({}) },
        { status: 503, json: async () => ({ error: 'full', message: 'The server has no room.' }) },
      ]
      const client = await launch({
        fetch: async (address, init) => answers.shift() ?? fetch(address, init),
      })
      for (const code of ['bad_answer', 'bad_answer', 'full']) {
        expect(await codeOf(client.sync())).to.equal(code)
        client.networkChanged()
      }
      await client.sync()
      expect(setup.api.store.stations.size).to.equal(1)
    })

    const hanging =
      (onAsked = () => {}): Fetch =>
      (_address, { signal }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason))
          onAsked()
        })

    it('the client aborts a call that takes 30 s', async () => {
      const client = await launch({ fetch: hanging() })
      const code = codeOf(client.start())
      await setup.app.clock.advance(30_000)
      expect(await code).to.equal('unreachable')
    })

    it('closing the client aborts its running call', async () => {
      const client = await launch({ fetch: hanging(() => void client.close()) })
      expect(await codeOf(client.start())).to.equal('closed')
      expect(setup.app.clock.pending).to.equal(0)
    })

    it("closing the client waits until it has finished writing to the app's stores", async () => {
      const [held, both] = [deferred(), deferred()]
      const begun: string[] = []
      const ended: string[] = []
      const keep = async (name: string) => {
        begun.push(name)
        if (begun.length === 2) both.resolve()
        await held.promise
        ended.push(name)
      }
      const client = await launch({
        avatars: { hashOf: () => undefined, put: () => keep('avatar') },
        store: { load: async () => undefined, save: () => keep('state') },
      })
      const asking = [client.start(), client.pushReceived(push({ fromAvatarIcon: '/>', fromAvatarHash: 'icon:/>' }))]
      await both.promise
      const closed = client.close().then(() => ended.push('closed'))
      held.resolve()
      await Promise.allSettled([closed, ...asking])
      expect(begun).to.include.members(['avatar', 'state'])
      expect(ended).to.have.length(begun.length + 1)
      expect(ended.at(-1)).to.equal('closed')
    })

    it('a closed client sends nothing, and rejects waiting calls', async () => {
      const client = await launch()
      setup.app.fates = ['request_lost']
      await codeOf(client.start())
      const waiting = codeOf(client.sync())
      await client.close()
      expect(await waiting).to.equal('closed')
      await setup.app.clock.advance(7 * HOUR)
      expect(request()).to.deep.equal(['register'])
      expect(setup.app.clock.pending).to.equal(0)
    })
  })

  for (const [caseName, isRefused] of [
    ['refused for good', true],
    ['answered but not saved', false],
  ] as const) {
    it(`the client registers 6 hours after a heartbeat that was ${caseName}`, async () => {
      let refuses = false
      const answered: number[] = []
      const answers = new EventEmitter()
      const client = await launched({
        async fetch(address, init) {
          const answer = refuses
            ? { status: 403, json: async () => ({ error: 'reserved', message: 'This call is reserved.' }) }
            : await fetch(address, init)
          answered.push(answer.status)
          answers.emit('one')
          return answer
        },
      })
      // The server now has another avatar than it confirmed before, so the client has to save the new hash.
      await setup.api.post('/v1/register', registration('N0CALL', { avatarUpdate: true, avatarIcon: 'dog' }))
      refuses = isRefused
      setup.app.saves = isRefused ? [] : [false]
      for (let beats = 0; beats < 3; beats++) {
        const first = once(answers, 'one', { signal: AbortSignal.timeout(10_000) })
        await setup.app.clock.advance(6 * HOUR)
        await first
        refuses = false
      }
      await client.close()
      expect(answered).to.deep.equal([200, isRefused ? 403 : 200, 200, 200])
      expect(setup.app.state?.avatarHash).to.equal('icon:dog')
    })
  }
})
