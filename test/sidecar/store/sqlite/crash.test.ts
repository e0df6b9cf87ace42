import { expect } from 'chai'
import { openSqliteStore } from '../../../../sidecar/store/sqlite/open-sqlite.ts'
import { sidecarProcesses } from '../../../support/sidecar-processes.ts'
import { rejection, SETTINGS, temporaryStores } from './temporary-stores.ts'

describe('A process that is killed', () => {
  const stores = temporaryStores()
  const sidecars = sidecarProcesses()

  // Shows: sidecar C8.9.
  it('keeps other processes from its file as long as it lives, and no longer', async () => {
    const sidecar = sidecars.start(['--config', await sidecars.configure({ database: stores.path() })])
    await sidecar.url()
    const error = await rejection(openSqliteStore(stores.path(), SETTINGS, stores.clock, stores.log))
    expect(error.code).to.equal('database_locked')
    expect(error.remedy).to.include('Stop that process')
    sidecar.kill('SIGKILL')
    await sidecar.ended
    await stores.open()
  })
})
