import { expect } from 'chai'
import { openSqliteStore } from '../../../../sidecar/store/sqlite/open-sqlite.ts'
import { sidecarProcesses } from '../../../support/sidecar-processes.ts'
import { rejection, SETTINGS, temporaryStores } from './temporary-stores.ts'

describe('The lock on the database of a sidecar', () => {
  const stores = temporaryStores()
  const sidecars = sidecarProcesses()

  // Shows: sidecar C8.9.
  it('a sidecar locks its database against other processes until it is killed', async () => {
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
