import { EventEmitter } from 'node:events'
import { expect } from 'chai'
import { finishBeforeStop, type SignalledProcess } from '../../../../plugin/meshcentral/sessions/stop-signals.ts'
import { deferred } from '../../../support/deferred.ts'

/** A process that records signals instead of being killed. */
function signalled() {
  const killed: unknown[] = []
  const emitter = new EventEmitter()
  const target = Object.assign(emitter, {
    pid: 7,
    kill: (pid: number, signal: unknown) => killed.push([pid, signal]) > 0,
  }) as unknown as SignalledProcess
  return { target, killed, emitter }
}

describe('stop signal to a MeshCentral process', () => {
  // Shows: plugin 9.14.
  it('a stop signal ends the process after pending token renewals are written', async () => {
    const { target, killed, emitter } = signalled()
    const { promise, resolve } = deferred()
    finishBeforeStop(() => promise, target)
    emitter.emit('SIGTERM')
    await new Promise(setImmediate)
    expect(killed).to.deep.equal([])
    resolve()
    await new Promise(setImmediate)
    expect(killed).to.deep.equal([[7, 'SIGTERM']])
    expect(emitter.listenerCount('SIGTERM')).to.equal(0)
  })

  // Shows: plugin 9.14.
  it("MeshCentral's own handler gets a stop signal once, after token renewals finish", async () => {
    const { target, killed, emitter } = signalled()
    const calls: string[] = []
    emitter.on('SIGINT', () => calls.push('MeshCentral'))
    finishBeforeStop(async () => calls.push('finished'), target)
    emitter.emit('SIGINT')
    await new Promise(setImmediate)
    expect({ calls, killed }).to.deep.equal({ calls: ['finished', 'MeshCentral'], killed: [] })
  })

  it('a second stop signal or a failed token write ends the process at once', async () => {
    const { target, killed, emitter } = signalled()
    finishBeforeStop(() => new Promise(() => undefined), target)
    emitter.emit('SIGTERM')
    emitter.emit('SIGTERM')
    expect(killed).to.have.length(1)
    const secondProcess = signalled()
    finishBeforeStop(() => Promise.reject(new Error('no')), secondProcess.target)
    secondProcess.emitter.emit('SIGTERM')
    await new Promise(setImmediate)
    expect(secondProcess.killed).to.have.length(1)
  })

  it("only MeshCentral's own handler gets a stop signal after the plugin is turned off", () => {
    const { target, emitter } = signalled()
    const calls: string[] = []
    emitter.on('SIGINT', () => calls.push('MeshCentral'))
    finishBeforeStop(async () => undefined, target)()
    emitter.emit('SIGINT')
    expect(calls).to.deep.equal(['MeshCentral'])
    expect(emitter.listenerCount('SIGTERM')).to.equal(0)
  })
})
