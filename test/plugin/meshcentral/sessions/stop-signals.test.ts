import { EventEmitter } from 'node:events'
import { expect } from 'chai'
import { finishBeforeStop, type SignalledProcess } from '../../../../plugin/meshcentral/sessions/stop-signals.ts'
import { deferred } from '../../../support/deferred.ts'

/** A process whose signals are told, in place of ending it. */
function signalled() {
  const killed: unknown[] = []
  const emitter = new EventEmitter()
  const target = Object.assign(emitter, {
    pid: 7,
    kill: (pid: number, signal: unknown) => killed.push([pid, signal]) > 0,
  }) as unknown as SignalledProcess
  return { target, killed, emitter }
}

describe('a stop signal of MeshCentral', () => {
  // Shows: plugin 9.14.
  it('ends the process once the renewals under way are written', async () => {
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
  it('reaches the listener that was there before, afterwards and once', async () => {
    const { target, killed, emitter } = signalled()
    const left: string[] = []
    emitter.on('SIGINT', () => left.push('MeshCentral'))
    finishBeforeStop(async () => left.push('finished'), target)
    emitter.emit('SIGINT')
    await new Promise(setImmediate)
    expect([left, killed]).to.deep.equal([['finished', 'MeshCentral'], []])
  })

  it('ends the process at once if it comes twice, and if finishing fails', async () => {
    const { target, killed, emitter } = signalled()
    finishBeforeStop(() => new Promise(() => undefined), target)
    emitter.emit('SIGTERM')
    emitter.emit('SIGTERM')
    expect(killed).to.have.length(1)
    const other = signalled()
    finishBeforeStop(() => Promise.reject(new Error('no')), other.target)
    other.emitter.emit('SIGTERM')
    await new Promise(setImmediate)
    expect(other.killed).to.have.length(1)
  })

  it('goes where it went before once the plugin is off', () => {
    const { target, emitter } = signalled()
    const left: string[] = []
    emitter.on('SIGINT', () => left.push('MeshCentral'))
    finishBeforeStop(async () => undefined, target)()
    emitter.emit('SIGINT')
    expect([left, emitter.listenerCount('SIGTERM')]).to.deep.equal([['MeshCentral'], 0])
  })
})
