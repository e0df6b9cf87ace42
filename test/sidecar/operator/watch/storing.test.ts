import { expect } from 'chai'
import type { History, Store } from '../../../../sidecar/messages/store.ts'
import { watchStoring } from '../../../../sidecar/operator/watch/storing.ts'
import { deferred } from '../../../support/deferred.ts'
import { until } from '../../../support/until.ts'
import { message, registration, rejection, temporaryStores } from '../../store/sqlite/temporary-stores.ts'

const LOST = ['messages_not_stored']

describe('The detection of storing problems', () => {
  const stores = temporaryStores()

  /** Watches a real store. If `way.instead` is set, it replaces `append`. */
  async function watched() {
    const { store } = await stores.openOver()
    await store.stations.register(registration('N0CALL'))
    const way: { instead?: History['append'] } = {}
    const history = { ...store.history, append: (...call) => (way.instead ?? store.history.append)(...call) } as History
    const storing = watchStoring({ ...store, history } satisfies Store, stores.clock)
    const append = (text: string) => storing.append([message(text)], false)
    return { way, storing, append }
  }

  // Shows: sidecar O1.1.
  it('reports a storing problem after a lost message, until a message is stored', async () => {
    const { way, storing, append } = await watched()
    expect(storing.problems()).to.deep.equal([])
    way.instead = () => Promise.reject(new Error('nobody foresaw this'))
    await rejection(append('one'))
    expect(storing.problems()).to.deep.equal(LOST)
    delete way.instead
    await append('two')
    expect(storing.problems()).to.deep.equal([])
    await storing.close()
  })

  it('reports that storing has recovered once a probe write succeeds', async () => {
    const { way, storing, append } = await watched()
    way.instead = () => Promise.reject(new Error('nobody foresaw this'))
    await rejection(append('one'))
    await stores.clock.advance(999)
    expect(storing.problems()).to.deep.equal(LOST)
    await stores.clock.advance(1)
    await until('no problem to be left', () => storing.problems().length === 0)
    await storing.close()
  })

  // Shows: sidecar O1.1.
  it('reports a storing problem while a message has waited for more than 5 s', async () => {
    const { way, storing, append } = await watched()
    const stuck = deferred()
    way.instead = () => stuck.promise.then(() => [])
    const first = append('one')
    await stores.clock.advance(5000)
    expect(storing.problems()).to.deep.equal([])
    delete way.instead
    await append('two')
    await stores.clock.advance(1)
    expect(storing.problems()).to.deep.equal(LOST)
    stuck.resolve()
    await first
    expect(storing.problems()).to.deep.equal([])
  })
})
